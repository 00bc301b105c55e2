"""Errors as HTTP responses: `{"error": {code, message, details}}`, as everywhere else."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from starlette.responses import Response

from a2c_smcp.errors import MalformedRequestError, SMCPError, to_payload
from a2c_smcp.utils.text import printable

_STATUS = {
    4001: 404,
    4002: 403,
    4004: 504,
    4005: 403,
    4014: 404,
    4018: 404,
    4101: 409,
    4102: 404,
    4104: 403,
    4201: 404,
    4202: 404,
    4203: 404,
    4204: 400,
}
MOST_PROBLEMS = 20


class JSON(Response):
    """JSON data. Text of peers may have lone surrogates, which UTF-8 has no form for: it is written in ASCII."""

    media_type = "application/json"

    def __init__(self, data: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(data, status, {"Cache-Control": "no-store", **(headers or {})})

    def render(self, content: Any) -> bytes:
        """The text of the data."""
        return json.dumps(content, ensure_ascii=True, separators=(",", ":"), default=_written).encode("ascii")


def _written(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON data")


def status_of(error: SMCPError) -> int:
    """The HTTP status for an error."""
    if error.code < 600:
        return error.code
    return _STATUS.get(error.code, 422)


def problem(error: SMCPError) -> JSON:
    """The response to a request that failed."""
    retry_after = (error.details or {}).get("retry_after")
    headers = {"Retry-After": str(retry_after)} if isinstance(retry_after, int) else {}
    if error.code == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSON(to_payload(error), status_of(error), headers)


def invalid(error: ValidationError, what: str) -> MalformedRequestError:
    """The error for data that is not what an operation expects. It repeats no value, which may be secret."""
    found = error.errors(include_url=False, include_input=False, include_context=False)[:MOST_PROBLEMS]
    places = [{"place": printable(".".join(map(str, each["loc"])), 200), "message": each["msg"]} for each in found]
    first = places[0]
    where = f"{what}.{first['place']}" if first["place"] else what
    return MalformedRequestError(f"{where}: {first['message']}", details={"problems": places})
