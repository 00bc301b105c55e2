"""The description of an API, generated from its operations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from a2c_smcp.console.web.operations import Operation

VERSION = "3.1.0"
_VARIABLE = re.compile(r"\{(\w+)(?::\w+)?\}")
_REFERENCES = "#/components/schemas/{model}"
ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "integer", "description": "See the reference of error codes."},
                "message": {"type": "string"},
                "details": {"type": "object"},
            },
        }
    },
}


def describe(title: str, version: str, base: str, operations: Iterable[Operation], cookie: str) -> dict[str, Any]:
    """The OpenAPI document of an API whose paths start with `base`."""
    shapes: dict[str, Any] = {"Error": ERROR}
    paths: dict[str, Any] = {}
    for operation in operations:
        path = _VARIABLE.sub(r"{\1}", operation.path)
        paths.setdefault(path, {})[operation.method.lower()] = _operation(operation, shapes)
    return {
        "openapi": VERSION,
        "info": {"title": title, "version": version},
        "servers": [{"url": base}],
        "security": [{"bearer": []}, {"key": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": shapes,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
            },
        },
    }


def _operation(operation: Operation, shapes: dict[str, Any]) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _VARIABLE.findall(operation.path)
    ]
    if operation.query_shape is not None:
        query = operation.query_shape.json_schema()
        required = query.get("required", [])
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": schema}
            for name, schema in query.get("properties", {}).items()
        ]
    described: dict[str, Any] = {"summary": operation.summary, "responses": _responses(operation, shapes)}
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        content = {"application/json": {"schema": _shape(TypeAdapter(operation.body), shapes)}}
        described["requestBody"] = {"required": True, "content": content}
    if not operation.needs_login:
        described["security"] = []
    return described


def _responses(operation: Operation, shapes: dict[str, Any]) -> dict[str, Any]:
    error = {"description": "An error", "content": {"application/json": {"schema": _reference("Error")}}}
    if operation.is_stream:
        good: dict[str, Any] = {"description": "Events", "content": {"text/event-stream": {}}}
    elif operation.answer is None:
        return {"204": {"description": "Done"}, "default": error}
    else:
        schema = _shape(TypeAdapter(operation.answer), shapes)
        good = {"description": "The answer", "content": {"application/json": {"schema": schema}}}
    return {"200": good, "default": error}


def _shape(adapter: TypeAdapter[Any], shapes: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a shape. Those that it refers to are added to `shapes`."""
    schema = adapter.json_schema(ref_template=_REFERENCES)
    shapes.update(schema.pop("$defs", {}))
    name = schema.get("title")
    if not name or schema.get("type") != "object" or "properties" not in schema:
        return schema
    shapes[name] = schema
    return _reference(name)


def _reference(name: str) -> dict[str, str]:
    return {"$ref": _REFERENCES.format(model=name)}
