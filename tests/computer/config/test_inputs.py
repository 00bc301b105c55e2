"""Inputs: where their values come from, how they get into a configuration, and that secrets stay where they are."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import sys
import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2c_smcp.computer.config.files import server_from
from a2c_smcp.computer.config.input_sources import InputMissing, Keyring, environment_names
from a2c_smcp.computer.config.inputs import InputResolver
from a2c_smcp.computer.config.model import (
    MCPServerCommandInput,
    MCPServerInput,
    MCPServerPickStringInput,
    MCPServerPromptStringInput,
    PickOption,
)
from a2c_smcp.computer.config.placeholders import fill, input_ids
from a2c_smcp.computer.config.secrets import HIDDEN, Secrets, replace_secrets
from a2c_smcp.computer.socketio.client import SMCPComputerClient
from a2c_smcp.computer.types import ServerState
from tests.support.hosting import code_of, hosting, raw, text_of
from tests.support.peer import crowd, request
from tests.support.running import running

pytestmark = pytest.mark.anyio


class Person:
    """Answers questions, and remembers them."""

    def __init__(self, **answers: str | None) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def ask(self, wanted: MCPServerInput) -> str | None:
        self.asked.append(wanted.id)
        await self.may_answer.wait()
        return self.answers.get(wanted.id)


PROMPT = MCPServerPromptStringInput(id="name", default="nobody")
PICK = MCPServerPickStringInput(id="color", options=["red", "blue"], default="blue")
TOKEN = MCPServerPromptStringInput(id="api-token", password=True)


def printing(text: str, **fields: Any) -> MCPServerCommandInput:
    return MCPServerCommandInput(id="made", command=sys.executable, args=["-c", f"print({text!r})"], **fields)


async def test_the_environment_comes_first_then_a_person_then_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(name="alice")
    resolver = InputResolver([PROMPT, PICK], prompter=person)
    assert await resolver.resolve("name") == "alice"
    assert await resolver.resolve("color") == "blue"
    monkeypatch.setenv("A2C_SMCP_NAME", "bob")
    assert await resolver.resolve("name") == "bob"
    monkeypatch.setenv("A2C_SMCP_NAME_GITHUB", "carol")
    assert await resolver.resolve("name", server="github") == "carol"
    assert await resolver.resolve("name", server="other") == "bob"
    assert person.asked == ["name", "color"]


def test_names_in_the_environment() -> None:
    assert list(environment_names("A2C_SMCP_", "api-key", "my.server", "run")) == [
        "A2C_SMCP_api_key_my_server_run",
        "A2C_SMCP_API-KEY_MY.SERVER_RUN",
        "A2C_SMCP_API_KEY_MY_SERVER_RUN",
        "A2C_SMCP_api_key_my_server",
        "A2C_SMCP_API-KEY_MY.SERVER",
        "A2C_SMCP_API_KEY_MY_SERVER",
        "A2C_SMCP_api_key",
        "A2C_SMCP_API-KEY",
        "A2C_SMCP_API_KEY",
    ]
    assert list(environment_names("A2C_SMCP_", "KEY")) == ["A2C_SMCP_KEY"]


@pytest.mark.skipif(os.name == "nt", reason="Windows ignores the case of names")
async def test_the_exact_spelling_of_an_id_in_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = InputResolver([TOKEN])
    monkeypatch.setenv("A2C_SMCP_API_TOKEN", "ours")
    assert await resolver.resolve("api-token") == "ours"
    monkeypatch.setenv("A2C_SMCP_api_token", "exact")
    assert await resolver.resolve("api-token") == "exact"
    monkeypatch.setenv("A2C_SMCP_API_TOKEN_GITHUB", "for one server")
    assert await resolver.resolve("api-token", server="github") == "for one server"


async def test_a_value_is_asked_for_once_and_kept_until_cleared() -> None:
    person = Person(name="alice")
    resolver = InputResolver([PROMPT], prompter=person)
    for _ in range(3):
        await resolver.resolve("name")
    assert person.asked == ["name"]
    resolver.clear_values()
    await resolver.resolve("name")
    assert person.asked == ["name", "name"]


async def test_many_who_ask_at_a_time_cause_one_question() -> None:
    person = Person(name="alice")
    person.may_answer.clear()
    resolver = InputResolver([PROMPT], prompter=person)
    tasks = [asyncio.create_task(resolver.resolve("name")) for _ in range(5)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    person.may_answer.set()
    assert await asyncio.gather(*tasks[1:]) == ["alice"] * 4
    assert person.asked == ["name"]


async def test_a_missing_value_says_what_to_set() -> None:
    resolver = InputResolver([TOKEN])
    with pytest.raises(InputMissing, match="A2C_SMCP_API_TOKEN"):
        await resolver.resolve("api-token")


async def test_a_command_gives_its_output_stripped() -> None:
    resolver = InputResolver([printing("  from a command ")])
    assert await resolver.resolve("made") == "from a command"


@pytest.mark.parametrize(
    "command",
    [
        MCPServerCommandInput(id="made", command="no-such-command"),
        MCPServerCommandInput(id="made", command=sys.executable, args=["-c", "raise SystemExit(3)"]),
        MCPServerCommandInput(id="made", command=sys.executable, args=["-c", "input()"]),
        MCPServerCommandInput(
            id="made", command=sys.executable, args=["-c", "import time; time.sleep(60)"], timeout=0.2
        ),
    ],
)
async def test_a_command_that_fails_is_a_missing_value(command: MCPServerCommandInput) -> None:
    with pytest.raises(InputMissing, match="made"):
        await InputResolver([command]).resolve("made")


async def test_a_command_that_cannot_be_run_is_named() -> None:
    with pytest.raises(InputMissing, match="no-such-command cannot be run: No such file"):
        await InputResolver([MCPServerCommandInput(id="made", command="/x/no-such-command")]).resolve("made")
    with pytest.raises(InputMissing, match="cannot be read: No closing quotation"):
        await InputResolver([MCPServerCommandInput(id="made", command="echo 'a")]).resolve("made")
    with pytest.raises(InputMissing, match="echo cannot be run"):
        await InputResolver([MCPServerCommandInput(id="made", command="echo", args=["\0"])]).resolve("made")


async def test_a_value_in_the_environment_is_one_of_the_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A2C_SMCP_COLOR", "red")
    assert await InputResolver([PICK]).resolve("color") == "red"
    monkeypatch.setenv("A2C_SMCP_COLOR", "mauve")
    with pytest.raises(InputMissing, match="red, blue") as caught:
        await InputResolver([PICK]).resolve("color")
    assert "mauve" not in str(caught.value)


async def test_options_with_labels_are_chosen_by_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    pick = MCPServerPickStringInput(id="color", options=["blue", PickOption(label="Rosso", value="red")], default="red")
    assert await InputResolver([pick]).resolve("color") == "red"
    monkeypatch.setenv("A2C_SMCP_COLOR", "Rosso")
    with pytest.raises(InputMissing, match="blue, red"):
        await InputResolver([pick]).resolve("color")


async def test_a_command_has_no_shell_unless_the_config_says_so() -> None:
    plain = InputResolver([MCPServerCommandInput(id="made", command="echo $HOME; echo second")])
    assert await plain.resolve("made") == "$HOME; echo second"
    shell = InputResolver([MCPServerCommandInput(id="made", command="echo first; echo", args=["$x"], shell=True)])
    assert await shell.resolve("made") == "first\n$x"


async def test_a_keyring_that_is_not_there_is_done_without(caplog: pytest.LogCaptureFixture) -> None:
    resolver = InputResolver([TOKEN], prompter=Person(**{"api-token": "hush-hush"}), keyring=Keyring())
    assert await resolver.resolve("api-token") == "hush-hush"
    assert "keyring" in caplog.text
    assert await resolver.keep("api-token", "another") is False
    assert await resolver.resolve("api-token") == "another"


async def test_the_source_of_a_value_is_known_without_asking_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    resolver = InputResolver([TOKEN, PROMPT, printing("x")], prompter=Person(**{"api-token": "hush"}))
    assert [resolver.source(each) for each in ("api-token", "name", "made", "nothing")] == [
        None,
        "default",
        "command",
        None,
    ]
    await resolver.resolve("api-token")
    await resolver.resolve("name")
    assert [resolver.source("api-token"), resolver.source("name")] == ["person", "default"]
    monkeypatch.setenv("A2C_SMCP_NAME_FILES", "x")
    assert [resolver.source("name"), resolver.source("name", ["files"])] == ["default", "environment"]


async def test_a_keyring_remembers_passwords() -> None:
    import keyring
    import keyring.backend

    class Memory(keyring.backend.KeyringBackend):
        priority = 1  # type: ignore[assignment]
        held: dict[tuple[str, str], str] = {}  # noqa: RUF012

        def get_password(self, service: str, username: str) -> str | None:
            return self.held.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.held[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del self.held[service, username]

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        person = Person(**{"api-token": "hush-hush"})
        assert await InputResolver([TOKEN], prompter=person, keyring=Keyring()).resolve("api-token") == "hush-hush"
        assert await InputResolver([TOKEN], keyring=Keyring()).resolve("api-token") == "hush-hush"
        await Keyring().delete("api-token")
        assert Memory.held == {}
        given = InputResolver([TOKEN, PROMPT], keyring=Keyring())
        assert [await given.keep("api-token", "hush"), await given.keep("name", "ann")] == [True, False]
        again = InputResolver([TOKEN, PROMPT], keyring=Keyring())
        assert [await again.resolve("api-token"), await again.resolve("name")] == ["hush", "nobody"]
    finally:
        keyring.set_keyring(before)


# --------------------------------------------------------------------------------------------------------- placeholders


def test_a_whole_placeholder_keeps_its_type_and_an_embedded_one_is_text() -> None:
    value = {"a": "${input:n}", "b": ["x${input:n}y${input:m}"], "${input:n}": 1}
    assert fill(value, {"n": 7, "m": None}) == {"a": 7, "b": ["x7yNone"], "${input:n}": 1}
    assert input_ids(value) == ["n", "m"]


async def test_an_undefined_input_stays_literal_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    assert await InputResolver().render({"a": "${input:ghost}"}, "srv") == {"a": "${input:ghost}"}
    assert "ghost" in caplog.text


async def test_a_definition_that_changes_loses_its_value() -> None:
    resolver = InputResolver([PROMPT, PICK])
    resolver.set_value("name", "alice")
    resolver.set_value("color", "red")
    resolver.define(MCPServerPromptStringInput(id="name", default="somebody"))
    assert resolver.values == {"color": "red"}
    assert resolver.undefine("color")
    assert not resolver.undefine("color")
    assert resolver.values == {}
    assert not resolver.set_value("color", "red")


async def test_a_server_whose_input_has_no_value_fails_and_starts_once_it_has_one() -> None:
    config = raw(env={"TOKEN": "${input:api-token}"})
    async with hosting(config, raw("other", "--prefix", "o_"), inputs=[TOKEN]) as computer:
        failed = computer.status_of("raw")
        assert (failed.state, failed.restarts) == (ServerState.FAILED, 0)
        assert computer.status_of("other").active
        assert computer.set_input_value("api-token", "hush-hush")
        await computer.mcp_manager.astart_client("raw")
        assert text_of(await computer.call("env", name="TOKEN")) == "hush-hush"


async def test_the_inputs_of_a_computer_can_be_changed() -> None:
    async with hosting(inputs=[PROMPT]) as computer:
        computer.add_or_update_input({"id": "color", "type": "pickString", "options": ["red"]})
        assert [wanted.id for wanted in computer.inputs] == ["name", "color"]
        assert computer.get_input("color") == computer.list_inputs()[1]
        computer.set_input_value("color", "red")
        assert (computer.get_input_value("color"), computer.list_input_values()) == ("red", {"color": "red"})
        assert computer.remove_input_value("color")
        assert not computer.remove_input_value("color")
        assert computer.remove_input("name")
        computer.update_inputs([PICK])
        assert computer.inputs == (PICK,)
        computer.clear_input_values()


# -------------------------------------------------------------------------------------------------------------- secrets


def test_secrets_are_taken_out_of_texts() -> None:
    secrets = Secrets()
    assert secrets.redact("nothing to hide") == "nothing to hide"
    for value in ("hush-hush", "hush-hush-more", "ab"):
        secrets.add(value)
    assert (
        secrets.redact("a hush-hush-more, a hush-hush, ab and about") == f"a {HIDDEN}, a {HIDDEN}, {HIDDEN} and about"
    )
    secrets.forget()


SECRET = 'p?>~w/o+rd"é>>??x'


@pytest.mark.parametrize(
    "written",
    [
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"me:{SECRET}".encode()).decode(),
        base64.urlsafe_b64encode(f"bob:{SECRET} and more".encode()).decode(),
        quote(SECRET),
        quote(SECRET, ""),
        json.dumps({"key": SECRET}),
    ],
)
def test_secrets_are_taken_out_in_their_usual_encodings(written: str) -> None:
    secrets = Secrets()
    secrets.add(SECRET)
    redacted = secrets.redact(written)
    assert HIDDEN in redacted
    assert len(redacted) < len(written) - len(SECRET) + len(HIDDEN) + 4, "but for what it shares with others"
    secrets.forget()


@given(
    st.lists(st.sampled_from(["hush-hush", "hush-hush-more", "ab", "a", "b", "-", "more ", "x" * 9]), max_size=30),
    st.integers(0, 40),
)
def test_the_beginning_of_a_text_is_that_of_the_whole_text_without_secrets(parts: list[str], width: int) -> None:
    secrets = Secrets()
    text = "".join(parts)
    assert secrets.redact(text, width) == text[:width]
    for value in ("hush-hush", "hush-hush-more", "ab"):
        secrets.add(value)
    assert secrets.redact(text, width) == secrets.redact(text)[:width]
    secrets.forget()


def test_the_rest_of_a_long_text_is_not_searched() -> None:
    secrets = Secrets()
    for number in range(20):
        secrets.add(f"{number}-very-secret-{number}")
    text = "very secret words, 0-very-secret-0, and more; " * 40_000

    def seconds(width: int | None) -> float:
        before = time.process_time()
        secrets.redact(text, width)
        return time.process_time() - before

    assert min(seconds(500) for _ in range(3)) < seconds(None) / 100
    secrets.forget()


def test_secrets_in_a_configuration_are_found_by_their_names() -> None:
    shown = replace_secrets(
        {
            "env": {"API_KEY": "x", "HOME": "/root", "TOKEN": "${input:t}"},
            "headers": {"Authorization": "Bearer x", "X-Api-Key": "x", "Accept": "*"},
            "args": ["--token", "x", "--token=x", "--name", "x", "--password"],
            "url": "https://u:x@h/p?token=x&q=x",
        },
        lambda name, value: "HID",
    )
    assert shown == {
        "env": {"API_KEY": "HID", "HOME": "/root", "TOKEN": "${input:t}"},
        "headers": {"Authorization": "Bearer HID", "X-Api-Key": "HID", "Accept": "*"},
        "args": ["--token", "HID", "--token=HID", "--name", "x", "--password"],
        "url": "https://u:HID@h/p?token=HID&q=x",
    }


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--header", "Authorization:Bearer X"], ["--header", "Authorization:Bearer HID"]),
        (["--header", "x-token:X"], ["--header", "x-token:HID"]),
        (["--config", '{"apiKey":"X", "url": "http://h/p"}'], ["--config", '{"apiKey":"HID", "url": "http://h/p"}']),
        (["--config", "{'auth': {'token': 'X'}}"], ["--config", "{'auth': {'token': 'HID'}}"]),
        (["-c", "export API_KEY=X; run"], ["-c", "export API_KEY=HID; run"]),
        (["-c", 'export API_KEY="X y" && run'], ["-c", 'export API_KEY="HID" && run']),
        (["-c", "run --token X --verbose"], ["-c", "run --token HID --verbose"]),
        (["-c", "curl -H 'Authorization: Bearer X' h"], ["-c", "curl -H 'Authorization: Bearer HID' h"]),
        (["Server=db;User Id=sa;Password=X;Encrypt=yes"], ["Server=db;User Id=sa;Password=HID;Encrypt=yes"]),
        (["host=h password=X dbname=d"], ["host=h password=HID dbname=d"]),
        (
            ["-c", "export API_KEY=$OTHER; run --token ${input:t}"],
            ["-c", "export API_KEY=$OTHER; run --token ${input:t}"],
        ),
        (
            ["C:\\keys\\a.txt", "http://h:80/", "--key-file", "/a"],
            ["C:\\keys\\a.txt", "http://h:80/", "--key-file", "/a"],
        ),
    ],
)
def test_secrets_within_longer_texts_are_found(args: list[str], shown: list[str]) -> None:
    assert replace_secrets({"args": args}, lambda name, value: "HID") == {"args": shown}


@pytest.mark.parametrize(
    "text",
    [
        "export API_KEY=$OTHER; run --token ${input:t}",
        "C:\\keys\\a.txt",
        "http://h:80/",
        "--key-file /a",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert replace_secrets({"args": [text]}, lambda name, value: "HID") == {"args": [text]}


def test_the_default_of_a_variable_is_a_secret_where_any_value_is() -> None:
    shown = replace_secrets(
        {
            "env": {
                "API_KEY": "${K:-x}",
                "PLAIN": "${env:API_KEY:-x} ${HOME:-/root}",
                "FREE": "Bearer ${T:-x}",
                "DB": "${DB:-postgres://u:x@h/p?token=x}",
                "GH": "${A:-ghp_0123456789abcdefghij}",
                "TOKEN": "${A:-${B:-x}}",
                "PAT": "${A:-${input:t}}",
            },
            "headers": {"Authorization": "Bearer ${T:-x}"},
            "args": ["--token", "${T:-x}", "--password=${T:-x}", "--name", "${N:-x}", "postgres://u:${P:-x}@h/${N:-x}"],
            "url": "https://${USER:-somebody}@h/p?token=${T:-x}&q=${Q:-x}",
        },
        lambda name, value: "HID",
    )
    assert shown == {
        "env": {
            "API_KEY": "${K:-HID}",
            "PLAIN": "${env:API_KEY:-HID} ${HOME:-/root}",
            "FREE": "Bearer ${T:-HID}",
            "DB": "${DB:-postgres://u:HID@h/p?token=HID}",
            "GH": "${A:-HID}",
            "TOKEN": "${A:-${B:-HID}}",
            "PAT": "${A:-${input:t}}",
        },
        "headers": {"Authorization": "Bearer ${T:-HID}"},
        "args": [
            "--token", "${T:-HID}", "--password=${T:-HID}", "--name", "${N:-x}", "postgres://u:${P:-HID}@h/${N:-x}",
        ],
        "url": "https://${USER:-HID}@h/p?token=${T:-HID}&q=${Q:-x}",
    }  # fmt: skip


@pytest.mark.parametrize("user", ["${env:TOKEN}", "${TOKEN}", "${input:t}", "me:${env:PASSWORD}", "me:${input:p}"])
def test_a_placeholder_in_an_address_is_no_secret(user: str) -> None:
    url = f"https://{user}@h/p"
    assert replace_secrets({"url": url}, lambda name, value: "HID") == {"url": url}


async def test_a_secret_is_in_nothing_that_leaves_the_process(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A password, a command's output and a server that repeats both, into its logs, its errors and its last words."""
    caplog.set_level(logging.DEBUG)
    secrets = ("hush-password", "hush-command", "hush-default")
    inputs = [
        TOKEN,
        MCPServerCommandInput(id="made", command=sys.executable, args=["-c", "print('dnammoc-hsuh'[::-1])"]),
        MCPServerPromptStringInput(id="unused", password=True, default="hush-default"),
    ]
    placeholders = {"A": "${input:api-token}", "B": "x-${input:made}"}
    leak = (
        "import os,sys; print(os.environ['A'], os.environ['B'], file=sys.stderr); print(os.environ['A']); sys.exit(1)"
    )
    leaking = {"command": sys.executable, "args": ["-c", leak], "env": placeholders}
    web = {"url": "http://127.0.0.1:9/mcp?key=${input:api-token}", "headers": {"X": "${input:made}"}}
    resolver = InputResolver(inputs, prompter=Person(**{"api-token": "hush-password"}))
    servers = [raw(env=placeholders), server_from(leaking, "leaking"), server_from(web, "web")]
    async with hosting(*servers, input_resolver=resolver) as computer:
        await computer.until_state("leaking", ServerState.FAILED)
        await computer.until_state("web", ServerState.FAILED)
        assert text_of(await computer.call("env", name="A")) == "hush-password"
        failed = await computer.call("raise", code=-32000, message="bad token " + "hush-" + "password")
        assert code_of(failed) == 4003
        assert "bad token" in text_of(failed)
        history = [{**record, "parameters": None} for record in await computer.aget_tool_call_history()]
        said = [str(failed), str(computer.status), str([status.to_json() for status in computer.status]), str(history)]
        said.append(repr(computer.mcp_servers))
        with running("async") as server:
            client = SMCPComputerClient(computer=computer)
            await client.connect(server.url)
            await client.join_office("office")
            async with crowd(server) as people:
                agent = await people.member("agent", "agent", "office")
                said.append(json.dumps(await agent.ask("client:get_config", request())))
                said.append(json.dumps(await agent.ask("client:get_tools", request())))
            await client.disconnect()
    said.append("\n".join(f"{record.getMessage()} {record.exc_text}" for record in caplog.records))
    said.extend(capfd.readouterr())
    for secret in secrets:
        assert [text for text in said if secret in text] == []
    assert any("${input:api-token}" in text for text in said)
