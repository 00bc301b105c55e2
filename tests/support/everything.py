"""npm's `server-everything`: what to call and fetch to see all that it offers, and how to compare it."""

from __future__ import annotations

import base64
import contextlib
import re
from typing import Any, cast

CALLS: dict[str, dict[str, Any]] = {
    "echo": {"message": "hello, Ünïcode"},
    "get-sum": {"a": 2, "b": 3},
    "get-tiny-image": {},
    "get-structured-content": {"location": "Chicago"},
    "get-annotated-message": {"messageType": "error", "includeImage": True},
    "get-resource-links": {"count": 3},
    "get-resource-reference": {"resourceType": "Text", "resourceId": 1},
}
PROMPTS: dict[str, dict[str, str]] = {
    "simple-prompt": {},
    "args-prompt": {"city": "Paris"},
    "completable-prompt": {"department": "Engineering", "name": "Alice"},
    "resource-prompt": {"resourceType": "Text", "resourceId": "1"},
}


def timeless(value: Any) -> Any:
    """JSON data without the times that the server writes into its texts."""
    match value:
        case dict():
            return {key: timeless(each) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [timeless(each) for each in cast("list[Any]", value)]
        case str() if len(value) < 300:
            return re.sub(r"\d+:\d+:\d+( [AP]M)?", "TIME", _decoded(value))
        case _:
            return value


def _decoded(text: str) -> str:
    """A text, or the text inside a blob of the server, which has the time in it as well."""
    with contextlib.suppress(ValueError):
        return base64.b64decode(text, validate=True).decode()
    return text
