"""The frame of every page: its navigation, language and theme."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from a2c_smcp import __version__
from a2c_smcp.console.web.languages import ENGLISH, NAMES, choose, translate
from a2c_smcp.console.web.operations import Kind, Page
from a2c_smcp.console.web.rendering import Templates
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.static import StaticFiles
from a2c_smcp.errors import SMCPError

LANGUAGE_COOKIE, THEME_COOKIE = "a2c_language", "a2c_theme"
THEMES = ("auto", "light", "dark")
NO_STORE = {"Cache-Control": "no-store", "Vary": "Accept-Language, Cookie"}


class Layout:
    """Renders the pages of one console."""

    def __init__(self, kind: Kind, files: StaticFiles) -> None:
        self._kind = kind
        self._files = files
        self._templates = Templates()

    def render(self, request: Request, page: Page, asked: Asked, values: Mapping[str, Any], *, root: str) -> Response:
        """A page of the console."""
        frame = self._frame(request, root)
        menu = [
            {"title": each.menu_title or each.title, "path": f"{root}/console{each.path}", "is_here": each is page}
            for each in self._kind.pages
            if each.in_menu and "{" not in each.path
        ]
        menu += [{"title": each.title, "path": each.url, "is_here": False} for each in self._kind.links]
        inner = {
            "page": page,
            "here": asked.path,
            "menu": menu,
            "submenu": self._submenu(page, asked.path, root),
            "user": asked.sender.name,
            "csrf": asked.session.csrf if asked.session is not None else "",
        }
        return HTMLResponse(self._templates.render(page.template, {**frame, **inner, **values}), 200, NO_STORE)

    def login(self, request: Request, wanted: str, *, root: str) -> Response:
        """The page on which somebody logs in, and goes on to `wanted`."""
        values = {**self._frame(request, root), "wanted": wanted, "login_url": self._kind.login_url}
        return HTMLResponse(self._templates.render("web/login.html", values), 200, NO_STORE)

    def error(self, request: Request, error: SMCPError, status: int, *, root: str) -> Response:
        """The page for a request that failed."""
        values = {**self._frame(request, root), "error": error, "status": status}
        return HTMLResponse(self._templates.render("web/error.html", values), status, NO_STORE)

    def _submenu(self, page: Page, here: Mapping[str, str], root: str) -> list[dict[str, Any]]:
        """The pages with the same variable parts, such as those of one office."""
        if not here:
            return []
        variable = page.path.rpartition("}")[0]
        return [
            {
                "title": each.menu_title or each.title,
                "path": f"{root}/console{_filled(each.path, here)}",
                "is_here": each is page,
            }
            for each in self._kind.pages
            if each.in_menu and each.path.rpartition("}")[0] == variable
        ]

    def _frame(self, request: Request, root: str) -> dict[str, Any]:
        """What every page has."""
        language = choose(request.cookies.get(LANGUAGE_COOKIE), request.headers.get("accept-language", ""))
        theme = request.cookies.get(THEME_COOKIE, "")
        static = f"{root}/console/static/{self._files.digest}"
        return {
            "root": root,
            "static": static,
            "language": language,
            "languages": NAMES,
            "is_english": language == ENGLISH,
            "theme": theme if theme in THEMES else THEMES[0],
            "themes": THEMES,
            "site_title": self._kind.title,
            "brand": self._kind.brand,
            "version": __version__,
            "_": partial(_translate, language),
            "url": partial(_address, root),
        }


def _translate(language: str, text: str, **values: object) -> str:
    return translate(language, text, values)


def _address(root: str, path: str, **parts: object) -> str:
    """The address of a page, for a template."""
    return root + "/console" + _filled(path, parts)


def _filled(path: str, parts: Mapping[str, object]) -> str:
    """A path with its variable parts."""
    for name, value in parts.items():
        text = quote(str(value), safe="")
        path = path.replace(f"{{{name}}}", text).replace(f"{{{name}:path}}", text)
    return path
