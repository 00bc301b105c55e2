"""What a console consists of: the operations of its API, its pages, and links to another console.

An operation declares the shapes of its query, body and answer as types. They are checked on the way in, and described
by OpenAPI.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from a2c_smcp.console.web.problems import invalid
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.errors import MalformedRequestError

Handler: TypeAlias = Callable[[Asked], Awaitable[Any]]
MOST_FIELDS = 50


@dataclass(frozen=True)
class Operation:
    """A request of the API."""

    method: str
    path: str
    """Below `/api/v1`. A variable part is `{name}`, or `{name:path}` if it may contain slashes."""
    handler: Handler
    """Returns the answer as JSON data, or a response of Starlette."""
    summary: str
    """One sentence for the description of the API."""
    answer: Any = None
    """The type of the answer; None if there is none."""
    query: Any = None
    """A `TypedDict` with the fields of the query."""
    body: Any = None
    """The type of the body."""
    needs_login: bool = True
    is_stream: bool = False
    """Whether it answers with a stream of events."""
    is_activity: bool = True
    """Whether it shows that a person is there, so that the session goes on."""

    @cached_property
    def query_shape(self) -> TypeAdapter[Any] | None:
        """Checks the query."""
        return TypeAdapter(self.query) if self.query is not None else None

    @cached_property
    def body_shape(self) -> TypeAdapter[Any] | None:
        """Checks the body."""
        return TypeAdapter(self.body) if self.body is not None else None

    def read_query(self, fields: list[tuple[str, str]]) -> Any:
        """The query of a request, in its shape. A field that is repeated becomes a list.

        Raises:
            MalformedRequestError: it does not have that shape.
        """
        if self.query_shape is None:
            return None
        if len(fields) > MOST_FIELDS:
            raise MalformedRequestError(f"the query has more than {MOST_FIELDS} fields")
        lists = _list_fields(self.query)
        found: dict[str, Any] = {}
        for name, value in fields:
            if name in lists:
                cast("list[str]", found.setdefault(name, [])).append(value)
            else:
                found.setdefault(name, value)
        try:
            return self.query_shape.validate_python(found)
        except ValidationError as error:
            raise invalid(error, "query") from None

    def read_body(self, data: Any) -> Any:
        """The body of a request, in its shape.

        Raises:
            MalformedRequestError: it does not have that shape.
        """
        if self.body_shape is None:
            return None
        try:
            return self.body_shape.validate_python(data)
        except ValidationError as error:
            raise invalid(error, "body") from None


@dataclass(frozen=True)
class Page:
    """A page for people."""

    path: str
    """Below `/console`; with variable parts as in an operation. The page of `/` is the first that a person sees."""
    template: str
    """The file below `templates/`; empty if the handler always answers with a response."""
    title: str
    """In English; the key of its translation."""
    script: str | None = None
    """The module below `static/` that makes it live, without its ending."""
    handler: Callable[[Asked], Awaitable[Mapping[str, Any] | Response]] | None = None
    """Returns what the template needs, besides what every page has; or a response, which leads elsewhere."""
    in_menu: bool = True
    """Whether the navigation has it. Pages with the same variable parts are one menu, below the main one."""
    menu_title: str = ""
    """What the navigation calls it; the title if empty."""
    needs_login: bool = True


@dataclass(frozen=True)
class Link:
    """An entry of the navigation that leads to another console."""

    title: str
    """In English; the key of its translation."""
    url: str


@dataclass(frozen=True)
class Kind:
    """What one console is, in contrast to others."""

    name: str
    """A word, for the name of its cookie."""
    title: str
    """The title of its pages, and of the description of its API."""
    operations: Sequence[Operation]
    pages: Sequence[Page]
    brand: str = "A2C"
    links: Sequence[Link] = ()
    """The end of the navigation."""
    login_url: str | None = None
    """Where somebody without a key logs in."""


def _list_fields(shape: Any) -> frozenset[str]:
    annotations = cast("dict[str, Any]", getattr(shape, "__annotations__", {}))
    return frozenset(name for name, kind in annotations.items() if "list[" in str(kind))
