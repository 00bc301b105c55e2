"""A console as an ASGI application: its pages under `/console`, and its API under `/api/v1`.

It knows who sends a request before anything else happens, and answers every failure: with JSON in the API, with a page
to a person.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from a2c_smcp import __version__
from a2c_smcp.console.web.access import Access
from a2c_smcp.console.web.headers import secured
from a2c_smcp.console.web.layout import Layout
from a2c_smcp.console.web.openapi import describe
from a2c_smcp.console.web.operations import Kind, Operation, Page
from a2c_smcp.console.web.problems import JSON, problem, status_of
from a2c_smcp.console.web.requests import SAFE, Asked, check_csrf, check_origin, read_json
from a2c_smcp.console.web.static import StaticFiles
from a2c_smcp.errors import InternalError, NotAuthenticatedError, NotFoundError, SMCPError
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

API = "/api/v1"
PAGES = "/console"
Answer = Callable[[Request], Awaitable[Response]]


class Site:
    """The pages and the API of a console."""

    def __init__(self, kind: Kind, access: Access, files: StaticFiles | None = None) -> None:
        self.access = access
        self._kind = kind
        self._files = files or StaticFiles()
        self._layout = Layout(kind, self._files)
        self._operations = (*access.operations, *kind.operations, self._description())
        self._routes = [
            *(_route(API + each.path, each.method, partial(self._operate, each)) for each in self._operations),
            _route(f"{PAGES}/static/{{digest}}/{{name:path}}", "GET", self._serve_file),
            *(_route(PAGES + each.path, "GET", partial(self._show, each)) for each in kind.pages),
            _route(f"{PAGES}/login", "GET", self._show_login),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        request = Request(scope, receive)
        path = _path(scope)
        is_page = not path.startswith(f"{API}/")
        try:
            response = await self._route(request, path)
        except SMCPError as error:
            response = self._failed(request, error, is_page=is_page)
        except Exception:
            logger.exception("%s %s failed", request.method, one_line(path, 300))
            response = self._failed(request, InternalError(), is_page=is_page)
        await response(scope, receive, secured(send))

    async def _route(self, request: Request, path: str) -> Response:
        scope: dict[str, Any] = {**request.scope, "path": path, "root_path": ""}
        allowed: set[str] = set()
        for route in self._routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                parts: dict[str, str] = found.get("path_params", {})
                request.scope["path_params"] = {name: unquote(part) for name, part in parts.items()}
                return await route.endpoint(request)
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        if allowed:
            return Response(None, 405, {"Allow": ", ".join(sorted(allowed))})
        if path == PAGES:
            return RedirectResponse(_root(request) + f"{PAGES}/", 307)
        raise NotFoundError("there is no such page")

    # ------------------------------------------------------------------------------------------------------------- API

    async def _operate(self, operation: Operation, request: Request) -> Response:
        check_origin(request, self.access.origin, is_page=False)
        asked = await self._ask(request, needs_login=operation.needs_login)
        if asked.session is not None and operation.is_activity:
            self.access.sessions.touch(asked.session)
        body = None if request.method in SAFE else operation.read_body(await read_json(request))
        query = operation.read_query(request.query_params.multi_items())
        found = await operation.handler(Asked(request, asked.user, asked.session, asked.holds, asked.path, query, body))
        if isinstance(found, Response):
            return found
        return JSON(found) if found is not None else Response(None, 204, {"Cache-Control": "no-store"})

    async def _ask(self, request: Request, *, needs_login: bool) -> Asked:
        """A request with its sender.

        Raises:
            NotAuthenticatedError: it has none, and needs one.
            ForbiddenError: its sender may not use the console, or a page of another site sent it.
        """
        session = self.access.session_of(request)
        path = dict(request.path_params)
        if session is None or self.access.door.has_credential(request):
            user = await self.access.door.recognise(request) if needs_login else None
            if user is None and needs_login:
                raise NotAuthenticatedError("log in, or send a key as Authorization: Bearer KEY")
            return Asked(request, user, None, lambda: user is None or user.is_valid, path)
        if needs_login:
            check_csrf(request, session)
        return Asked(request, session.user, session, lambda: self.access.sessions.holds(session), path)

    def _description(self) -> Operation:
        async def answer(asked: Asked) -> Any:
            base = _root(asked.request) + API
            cookie = self.access.cookie_name(asked.request)
            return describe(f"{self._kind.title} API", __version__, base, self._operations, cookie)

        return Operation("GET", "/openapi.json", answer, "Describe this API.", dict[str, Any], needs_login=False)

    # ----------------------------------------------------------------------------------------------------------- pages

    async def _show(self, page: Page, request: Request) -> Response:
        check_origin(request, self.access.origin, is_page=True)
        try:
            asked = await self._ask(request, needs_login=True)
        except NotAuthenticatedError:
            wanted = quote(_root(request) + _path(request.scope), safe="/")
            return RedirectResponse(f"{_root(request)}{PAGES}/login?next={wanted}", 303, {"Cache-Control": "no-store"})
        token = None
        if asked.session is None and not self.access.door.has_credential(request):
            # A browser that is recognised by its connection gets a session, which protects it from other sites.
            token, session = self.access.sessions.open(asked.sender)
            asked = replace(asked, session=session)
        if asked.session is not None:
            self.access.sessions.touch(asked.session)
        values: Mapping[str, Any] | Response = await page.handler(asked) if page.handler is not None else {}
        if isinstance(values, Response):
            response = values
        else:
            response = self._layout.render(request, page, asked, values, root=_root(request))
        if token is not None:
            self.access.give_cookie(request, response, token)
        return response

    async def _show_login(self, request: Request) -> Response:
        check_origin(request, self.access.origin, is_page=True)
        wanted = request.query_params.get("next", "")
        home = f"{_root(request)}{PAGES}/"
        # Only a page of this console: anything else would let a link send a person elsewhere after the login.
        parts = urlsplit(wanted)
        is_own = wanted.startswith(home) and not parts.scheme and not parts.netloc and "\\" not in wanted
        return self._layout.login(request, wanted if is_own else home, root=_root(request))

    async def _serve_file(self, request: Request) -> Response:
        return self._files.answer(request.path_params["digest"], request.path_params["name"])

    def _failed(self, request: Request, error: SMCPError, *, is_page: bool) -> Response:
        if not is_page:
            return problem(error)
        return self._layout.error(request, error, status_of(error), root=_root(request))


def _route(path: str, method: str, endpoint: Answer) -> Route:
    return Route(path, endpoint, methods=[method])


def _root(request: Request) -> str:
    """The path under which the console's process is mounted."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def _path(scope: Scope) -> str:
    """The path of a request below that, as the browser sent it: the name of an office may have a slash, as `%2F`."""
    raw, root = scope.get("raw_path"), str(scope.get("root_path", "")).rstrip("/")
    if isinstance(raw, bytes):
        return raw.decode("latin-1").partition("?")[0].removeprefix(quote(root)) or "/"
    return quote(str(scope["path"]).removeprefix(root)) or "/"
