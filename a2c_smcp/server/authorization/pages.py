"""The pages that a person sees: the login, and errors. They need no scripts and no other files."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import urlsplit

from starlette.responses import HTMLResponse

from a2c_smcp.server.authorization.logins import Request
from a2c_smcp.server.public_url import is_loopback

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 32rem; margin: 8vh auto; padding: 0 1rem }
h1 { font-size: 1.4rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem }
dt { opacity: .7 }
dd { margin: 0; overflow-wrap: anywhere }
label, input { display: block; width: 100%; box-sizing: border-box }
input { font: inherit; padding: .5rem; margin: .3rem 0 1rem }
button { font: inherit; padding: .5rem 1.2rem; margin-right: .5rem; cursor: pointer }
.error { border-left: 4px solid #c33; padding-left: .8rem }
.note { opacity: .8; font-size: .9rem }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# What may be in the place of a host in a policy; an address of IPv6 may not.
_SOURCE = re.compile(r"https?://[a-z0-9.-]+(:\d+)?")


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of the pages in one language."""

    language: str
    title: str
    question: str
    client: str
    unnamed: str
    returns: str
    this_machine: str
    office: str
    role: str
    access: str
    key: str
    allow: str
    deny: str
    note: str
    wrong: str
    not_office: str
    expired: str
    foreign: str
    problem: str


ENGLISH = Texts(
    language="en",
    title="Log in to an office",
    question="Allow {client} to use the office {office}?",
    client="Program",
    unnamed="a program without a name",
    returns="Returns to",
    this_machine="a program on this computer ({uri})",
    office="Office",
    role="Role",
    access="Agent: it can call tools, and read windows and documents, on all Computers in the office",
    key="API key of this Server",
    allow="Allow",
    deny="Deny",
    note="The program chose its name itself. Allow it only if you have just started this login in it. It does not "
    "receive your key. Its access ends when the key is removed or changed, or expires.",
    wrong="This is not a valid key.",
    not_office="This key does not allow an Agent in the office {office}.",
    expired="This login has expired. Start it again in your program.",
    foreign="The form came without the cookie of this page. Allow cookies, and start the login again in your program.",
    problem="The login is not possible",
)
CHINESE = Texts(
    language="zh",
    title="登录办公室",
    question="允许 {client} 使用办公室 {office} 吗？",
    client="程序",
    unnamed="未命名的程序",
    returns="返回到",
    this_machine="这台计算机上的程序（{uri}）",
    office="办公室",
    role="角色",
    access="Agent：可以在该办公室的所有 Computer 上调用工具、读取窗口和文档",
    key="此 Server 的 API 密钥",
    allow="允许",
    deny="拒绝",
    note="程序名称由程序自己提供。只有当您刚刚在该程序中发起了这次登录时才应允许。程序不会得到您的密钥。"
    "密钥被删除、更改或过期后，访问权限随即终止。",
    wrong="密钥无效。",
    not_office="该密钥不允许在办公室 {office} 中担任 Agent。",
    expired="本次登录已过期，请在程序中重新开始。",
    foreign="表单缺少本页面的 Cookie。请允许 Cookie，并在程序中重新开始登录。",
    problem="无法登录",
)


def texts_for(accept_language: str) -> Texts:
    """The texts in the language that a browser asks for."""
    best, chosen = 0.0, ENGLISH
    for part in accept_language[:500].split(","):
        language, _, weight = part.partition(";q=")
        try:
            value = float(weight) if weight else 1.0
        except ValueError:
            continue
        found = {"en": ENGLISH, "zh": CHINESE}.get(language.strip().lower().split("-")[0])
        if found is not None and value > best:
            best, chosen = value, found
    return chosen


def login_page(texts: Texts, request: Request, hidden: Mapping[str, str], problem: str = "") -> HTMLResponse:
    """The page on which a person enters a key, or denies the access."""
    client = request.client_name or texts.unnamed
    place = urlsplit(request.redirect_uri)
    # The host is what the person can judge: the name may be anything.
    returns = f"{place.scheme}://{place.netloc}" if place.netloc else f"{place.scheme}:"
    if place.scheme == "http" and is_loopback(place.hostname or ""):
        returns = texts.this_machine.format(uri=returns)
    facts = (
        (texts.client, client, "client"),
        (texts.returns, returns, "returns"),
        (texts.office, request.office, "office"),
        (texts.role, texts.access, "role"),
    )
    question = texts.question.format(client=f"<b>{escape(client)}</b>", office=f"<b>{escape(request.office)}</b>")
    error = f'<p class="error" id="problem" role="alert">{escape(problem)}</p>' if problem else ""
    body = f"""<h1>{question}</h1>
<dl>{"".join(f'<dt>{escape(name)}</dt><dd id="{key}">{escape(value)}</dd>' for name, value, key in facts)}</dl>
{error}
<form method="post" action="login">
{"".join(f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in hidden.items())}
<label for="key">{escape(texts.key)}</label>
<input id="key" name="key" type="password" autocomplete="off" spellcheck="false" autofocus>
<button id="allow" name="action" value="allow">{escape(texts.allow)}</button>
<button id="deny" name="action" value="deny" formnovalidate>{escape(texts.deny)}</button>
</form>
<p class="note">{escape(texts.note)}</p>"""
    # A browser applies `form-action` to the redirect after the form as well.
    source = f"{place.scheme}://{place.netloc}".lower()
    target = source if _SOURCE.fullmatch(source) else f"{place.scheme}:"
    return _page(texts, texts.title, body, 403 if problem else 200, f"'self' {target}")


def error_page(texts: Texts, problem: str, status: int = 400) -> HTMLResponse:
    """The page for a login that cannot go on."""
    body = f'<h1>{escape(texts.problem)}</h1><p class="error" id="problem">{escape(problem)}</p>'
    return _page(texts, texts.problem, body, status, "'none'")


def _page(texts: Texts, title: str, body: str, status: int, form_action: str) -> HTMLResponse:
    html = f"""<!doctype html>
<html lang="{texts.language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>
<style>{_STYLE}</style></head>
<body>{body}</body></html>
"""
    policy = (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action {form_action}; base-uri 'none'; "
        "frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        # Of the same origin, because browsers leave the Origin out of forms of pages without a referrer.
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Vary": "Accept-Language",
    }
    return HTMLResponse(html, status, headers)
