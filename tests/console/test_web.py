"""What every console checks and answers: logins, sessions, origins, shapes, streams."""

from __future__ import annotations

import asyncio
import json

import pytest

from a2c_smcp.console.web.sessions import Sessions
from tests.console.site import SmallSite
from tests.support.asgi import Visitor
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
def small() -> SmallSite:
    return SmallSite()


@pytest.fixture
def visitor(small: SmallSite) -> Visitor:
    return Visitor(small.site)


async def test_a_page_leads_to_the_login_and_back(visitor: Visitor) -> None:
    answer = await visitor.get("/console/rooms/a%2Fb")
    assert (answer.status, answer.headers["location"]) == (303, "/console/login?next=/console/rooms/a%252Fb")
    page = await visitor.get("/console/login?next=/console/rooms/a%252Fb")
    assert 'data-wanted="/console/rooms/a%2Fb"' in page.text


@pytest.mark.parametrize("elsewhere", ["https://evil.test/", "//evil.test/", "/console/\\evil", "/other"])
async def test_a_login_leads_to_no_other_site(visitor: Visitor, elsewhere: str) -> None:
    page = await visitor.get(f"/console/login?next={elsewhere}")
    assert 'data-wanted="/console/"' in page.text


async def test_a_key_opens_a_session_that_logout_ends(visitor: Visitor) -> None:
    assert (await visitor.get("/api/v1/note")).code == 401
    answer = await visitor.log_in(key="admin")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert (await visitor.get("/api/v1/note")).status == 200
    cookies = dict(visitor.cookies)
    assert (await visitor.send("DELETE", "/api/v1/session")).status == 204
    visitor.cookies = cookies
    assert (await visitor.get("/api/v1/note")).code == 401


async def test_the_cookie_is_secure_behind_tls() -> None:
    visitor = Visitor(SmallSite(public_url="https://hub.test").site)
    cookie = (await visitor.log_in(key="admin")).headers["set-cookie"]
    assert cookie.startswith("__Host-a2c_test=")
    assert "Secure" in cookie


async def test_wrong_keys_and_keys_without_the_right_are_rejected(visitor: Visitor) -> None:
    assert (await visitor.log_in(key="wrong")).code == 401
    assert (await visitor.log_in(key="agent")).code == 403
    assert (await visitor.log_in()).code == 400
    assert (await visitor.get("/api/v1/note", authorization="Bearer agent")).code == 403
    assert visitor.cookies == {}


async def test_guessing_is_stopped_for_one_address(small: SmallSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("a2c_smcp.console.web.access.GUESS_SECONDS", 0)
    visitor, other = Visitor(small.site), Visitor(small.site, address="203.0.113.8")
    codes = [(await visitor.log_in(key="wrong")).code for _ in range(21)]
    assert codes == [401] * 20 + [429]
    assert (await visitor.log_in(key="admin")).headers["retry-after"]
    assert (await other.log_in(key="admin")).status == 200


async def test_a_login_token_is_valid_once(small: SmallSite, visitor: Visitor) -> None:
    user = await small.door.admit(None, "admin")  # pyright: ignore[reportArgumentType]
    token = small.tokens.mint(user)
    assert (await visitor.log_in(token=token)).status == 200
    thief = Visitor(small.site)
    assert (await thief.log_in(token=token)).code == 401
    assert (await thief.get("/api/v1/note")).code == 401


async def test_a_login_token_expires(small: SmallSite, visitor: Visitor) -> None:
    user = await small.door.admit(None, "admin")  # pyright: ignore[reportArgumentType]
    assert (await visitor.log_in(token=small.tokens.mint(user, seconds=0))).code == 401


async def test_sessions_end_when_idle_when_old_and_with_their_key() -> None:
    now = [0.0]
    small = SmallSite(Sessions(idle_seconds=10, lasting_seconds=25, clock=lambda: now[0]))
    visitor = Visitor(small.site)
    await visitor.log_in(key="admin")
    for now[0] in (9.0, 18.0, 24.0):
        assert (await visitor.get("/api/v1/note")).status == 200
    now[0] = 26.0
    assert (await visitor.get("/api/v1/note")).code == 401
    await visitor.log_in(key="admin")
    now[0] = 36.0
    assert (await visitor.get("/api/v1/note")).code == 401
    await visitor.log_in(key="admin")
    small.door.is_revoked = True
    assert (await visitor.get("/api/v1/note")).code == 401


async def test_sessions_are_bounded() -> None:
    sessions = Sessions(most=2)
    small = SmallSite(sessions)
    visitors = [Visitor(small.site) for _ in range(3)]
    for visitor in visitors:
        await visitor.log_in(key="admin")
    assert len(sessions) == 2
    assert [(await visitor.get("/api/v1/note")).status for visitor in visitors] == [401, 200, 200]


async def test_an_unsafe_request_needs_the_csrf_token(small: SmallSite, visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    assert (await visitor.send("PUT", "/api/v1/note", {"text": "x"}, x_csrf_token="")).code == 403
    assert (await visitor.send("PUT", "/api/v1/note", {"text": "x"}, x_csrf_token="other")).code == 403
    assert small.note == {"text": ""}
    assert (await visitor.send("PUT", "/api/v1/note", {"text": "x"})).status == 200
    assert small.note == {"text": "x"}


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
        {"sec_fetch_site": "", "origin": "http://evil.test"},
        {"sec_fetch_site": "", "origin": "null"},
    ],
)
async def test_other_sites_change_nothing(small: SmallSite, visitor: Visitor, headers: dict[str, str]) -> None:
    await visitor.log_in(key="admin")
    assert (await visitor.send("PUT", "/api/v1/note", {"text": "x"}, **headers)).code == 403
    assert (await visitor.post("/api/v1/session", {"key": "admin"}, **headers)).code == 403
    assert small.note == {"text": ""}


async def test_other_sites_read_nothing_and_may_link_to_pages(visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    assert (await visitor.get("/api/v1/note", sec_fetch_site="same-site")).code == 403
    assert (await visitor.get("/console/", sec_fetch_site="cross-site")).status == 403
    linked = await visitor.get("/console/", sec_fetch_site="cross-site", sec_fetch_mode="navigate")
    assert linked.status == 200


async def test_a_program_uses_its_key_without_a_session(small: SmallSite) -> None:
    program = Visitor(small.site, is_browser=False)
    key = {"authorization": "Bearer admin"}
    assert (await program.send("PUT", "/api/v1/note", {"text": "x"}, **key)).status == 200
    assert (await program.get("/api/v1/note", **key)).json() == {"text": "x"}
    assert program.cookies == {}


async def test_every_answer_has_the_policy_of_the_console(visitor: Visitor) -> None:
    for path in ("/console/login", "/console/nothing", "/api/v1/note", "/api/v1/openapi.json"):
        headers = (await visitor.get(path)).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


async def test_bodies_and_queries_are_checked_without_repeating_values(visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    answer = await visitor.send("PUT", "/api/v1/note", {"text": 5, "size": "a secret"})
    assert answer.code == 400
    assert "secret" not in answer.text
    assert (await visitor.send("PUT", "/api/v1/note", b"{")).code == 400
    assert (await visitor.send("PUT", "/api/v1/note", {"text": "x"}, content_type="text/plain")).code == 400
    assert (await visitor.send("PUT", "/api/v1/note", b'"' + b"x" * 1_000_001)).code == 413
    found = await visitor.get("/api/v1/find?tag=a&tag=b&most=3")
    assert found.json() == {"tag": ["a", "b"], "most": 3}
    assert (await visitor.get("/api/v1/find?most=x")).code == 400


async def test_a_fault_says_nothing_about_itself(visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    answer = await visitor.get("/api/v1/fail")
    assert answer.code == 500
    assert "secret" not in answer.text


async def test_names_in_paths_may_have_slashes(visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    assert (await visitor.get("/api/v1/rooms/a%2Fb%20%25/notes")).json() == {"room": "a/b %"}
    assert (await visitor.get("/api/v1/rooms/a/b/notes")).code == 404
    assert (await visitor.post("/api/v1/rooms/a/notes")).status == 405


async def test_a_console_below_a_path_links_below_it(visitor: Visitor) -> None:
    visitor.root_path = "/a2c"
    await visitor.log_in(key="admin")
    page = await visitor.get("/console/")
    assert 'href="/a2c/console/"' in page.text
    assert (await visitor.get("/api/v1/openapi.json")).json()["servers"] == [{"url": "/a2c/api/v1"}]


async def test_text_of_peers_is_no_markup_and_reorders_nothing(visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    page = await visitor.get("/console/rooms/%3Cscript%3Ealert(1)%3C%2Fscript%3E%E2%80%AE")
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;\\u202e</bdi>" in page.text


@pytest.mark.parametrize(
    ("header", "cookie", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", None, "zh-Hans"),
        ("de,en;q=0.5", None, "en"),
        ("zh-CN", "en", "en"),
        ("fr;q=x,*", "nonsense", "en"),
    ],
)
async def test_the_language_is_that_of_the_person(
    visitor: Visitor, header: str, cookie: str | None, language: str
) -> None:
    if cookie is not None:
        visitor.cookies["a2c_language"] = cookie
    page = await visitor.get("/console/login", accept_language=header)
    assert f'<html lang="{language}"' in page.text


async def test_static_files_have_lasting_addresses(visitor: Visitor) -> None:
    page = await visitor.get("/console/login")
    at = page.text.index("/console/static/")
    path = page.text[at : page.text.index('"', at)]
    answer = await visitor.get(path)
    assert "immutable" in answer.headers["cache-control"]
    digest = path.split("/")[3]
    assert (await visitor.get(path.replace(digest, "0" * 16))).status == 404
    assert (await visitor.get(f"/console/static/{digest}/../site.py")).status == 404
    texts = await visitor.get(f"/console/static/{digest}/texts/zh.js")
    assert texts.headers["content-type"].startswith("text/javascript")


async def test_the_api_is_described(visitor: Visitor) -> None:
    described = (await visitor.get("/api/v1/openapi.json")).json()
    note = described["paths"]["/note"]["put"]
    assert note["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Note"}
    assert described["components"]["schemas"]["Note"]["required"] == ["text"]
    assert [each["name"] for each in described["paths"]["/find"]["get"]["parameters"]] == ["tag", "most"]


async def test_a_stream_goes_on_where_it_was(small: SmallSite, visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    async with asyncio.timeout(PATIENCE):
        async with visitor.events("/api/v1/events") as events:
            assert (await events.get())["event"] == "opened"
            small.feed.publish("notes", "note", {"n": 1})
            first = await events.get()
        small.feed.publish("notes", "note", {"n": 2})
        small.feed.publish("other", "note", {"n": 0})
        async with visitor.events("/api/v1/events", last_event_id=first["id"]) as events:
            assert (await events.get())["event"] == "resumed"
            assert json.loads((await events.get())["data"]) == {"n": 2}


async def test_a_stream_whose_events_are_gone_starts_anew(small: SmallSite, visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    async with asyncio.timeout(PATIENCE):
        async with visitor.events("/api/v1/events") as events:
            last = (await events.get())["id"]
        for number in range(9):
            small.feed.publish("notes", "note", {"n": number})
        for last_id in (last, "nonsense", "0000-5", f"{last.split('-')[0]}-999"):
            async with visitor.events("/api/v1/events", last_event_id=last_id) as events:
                assert (await events.get())["event"] == "opened"


async def test_a_slow_reader_is_told_and_dropped(small: SmallSite, visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    async with asyncio.timeout(PATIENCE), visitor.events("/api/v1/events") as events:
        assert (await events.get())["event"] == "opened"
        for number in range(9):
            small.feed.publish("notes", "note", {"n": number})
        ended = await events.get()
        assert (ended["event"], json.loads(ended["data"])) == ("ended", {"reason": "slow"})
        assert await events.get() == {}


async def test_a_stream_ends_with_its_session_and_its_process(small: SmallSite, visitor: Visitor) -> None:
    await visitor.log_in(key="admin")
    async with asyncio.timeout(PATIENCE), visitor.events("/api/v1/events") as events:
        await events.get()
        small.door.is_revoked = True
        assert json.loads((await events.get())["data"]) == {"reason": "logged_out"}
    small.door.is_revoked = False
    await visitor.log_in(key="admin")
    async with asyncio.timeout(PATIENCE), visitor.events("/api/v1/events") as events:
        await events.get()
        small.feed.aclose()
        assert json.loads((await events.get())["data"]) == {"reason": "restart"}
