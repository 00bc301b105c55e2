"""Tools for models: how they are named, described and called."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from a2c_smcp.agent import Answer, Answers, Choice, SyncToolkit, Toolkit
from a2c_smcp.agent.answers import Image, Text
from a2c_smcp.computer.config.files import server_from
from tests.computer.offer.test_skills import write_skill
from tests.support.agents import Diary, Driven, Stage
from tests.support.hosting import AUTO, raw, shelves
from tests.support.model_api import ModelApi, Round, model_api

pytestmark = pytest.mark.anyio

FITS = re.compile("[a-zA-Z0-9_-]{1,64}")


def toolkit(agent: Driven, choice: Choice | None = None, **options: Any) -> Any:
    """The toolkit of an Agent; its `call` is awaited in both forms."""
    return Driven(agent.form, listing(agent, choice, **options))


def listing(agent: Driven, choice: Choice | None = None, **options: Any) -> Any:
    return (Toolkit if agent.form == "async" else SyncToolkit)(agent.client, choice, **options)


def tool(name: str, schema: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": name,
        "description": f"does {name}",
        "params_schema": {"type": "object", "properties": {}} if schema is None else schema,
        "return_schema": None,
    }
    return {**described, "meta": {"a2c_tool_meta": json.dumps(meta)}} if meta else described


async def with_tools(scene: Stage, **computers: list[dict[str, Any]]) -> Driven:
    """An Agent among Computers that have these tools and answer every call with who they are and what they got."""
    for name, tools in computers.items():
        peer = await scene.fake(name)

        def answer(event: str, data: Any, name: str = name, tools: list[dict[str, Any]] = tools) -> Any:
            if event == "client:get_tools":
                return {"tools": tools, "req_id": data["req_id"]}
            said = {"computer": name, "tool": data["tool_name"], "params": data["params"]}
            return {"content": [{"type": "text", "text": json.dumps(said)}], "isError": False}

        peer.answer = answer
    return await scene.agent()


def said(answer: Answer) -> Any:
    assert not answer.is_error, answer.text
    return json.loads(answer.text)


async def test_tools_in_the_forms_that_models_know(scene: Stage) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    kit = listing(agent)
    plain = kit.json_schema()
    assert [entry["function"] for entry in kit.openai()] == plain
    assert all(entry["type"] == "function" for entry in kit.openai())
    assert [entry["input_schema"] for entry in kit.anthropic()] == [entry["parameters"] for entry in plain]
    assert {entry["name"] for entry in kit.openai_responses()} == {entry["name"] for entry in plain}
    echo = next(entry for entry in plain if entry["name"] == "echo")
    assert echo["parameters"]["type"] == "object"
    assert "text" in echo["parameters"]["properties"]


async def test_a_call_is_routed_back(scene: Stage) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    kit = toolkit(agent)
    assert (await kit.call("echo", {"text": "hi"})).text == "hi"
    assert (await kit.call("echo", '{"text": "hi"}')).text == "hi", "as OpenAI gives the arguments"
    failed = await kit.call("fail", {})
    assert failed.is_error


async def test_pictures_come_as_each_model_takes_them(scene: Stage) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    answer = await toolkit(agent).call("media")
    assert len(answer.images) >= 1
    image = answer.images[0]
    block = answer.for_anthropic("id")
    assert block["tool_use_id"] == "id"
    assert {"type": "base64", "media_type": image.mime_type, "data": image.data} in [
        part.get("source") for part in block["content"]
    ]
    words, shown = answer.for_openai("id")
    assert (words["role"], words["tool_call_id"]) == ("tool", "id")
    assert shown["content"][2]["image_url"]["url"].startswith("data:image/")
    item = answer.for_openai_responses("id")
    assert item["call_id"] == "id"
    assert any(part["type"] == "input_image" for part in item["output"])


Turn = Callable[[ModelApi, Any, Driven], Awaitable[str]]
# The packages are imported where they are used: it takes seconds, and each worker of pytest imports every module.


async def chat_completions(api: ModelApi, kit: Toolkit | SyncToolkit, driven: Driven) -> str:
    from openai import AsyncOpenAI

    conversation: list[Any] = [{"role": "user", "content": "Show me."}]
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="a-key") as model:
        while True:
            completion = await model.chat.completions.create(model="m", messages=conversation, tools=kit.openai())
            message = completion.choices[0].message
            conversation.append(message)
            if not message.tool_calls:
                return message.content or ""
            calls = [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls if c.type == "function"]
            conversation += (await driven.call_all(calls)).for_openai()


async def responses(api: ModelApi, kit: Toolkit | SyncToolkit, driven: Driven) -> str:
    from openai import AsyncOpenAI

    conversation: list[Any] = [{"role": "user", "content": "Show me."}]
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="a-key") as model:
        while True:
            response = await model.responses.create(model="m", input=conversation, tools=kit.openai_responses())
            conversation += response.output
            calls = [(i.call_id, i.name, i.arguments) for i in response.output if i.type == "function_call"]
            if not calls:
                return response.output_text
            conversation += (await driven.call_all(calls)).for_openai_responses()


async def messages(api: ModelApi, kit: Toolkit | SyncToolkit, driven: Driven) -> str:
    from anthropic import AsyncAnthropic

    conversation: list[Any] = [{"role": "user", "content": "Show me."}]
    async with AsyncAnthropic(base_url=api.url, api_key="a-key") as model:
        while True:
            tools = kit.anthropic()
            message = await model.messages.create(model="m", max_tokens=9, messages=conversation, tools=tools)
            conversation.append({"role": "assistant", "content": message.content})
            calls = [(block.id, block.name, block.input) for block in message.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in message.content if block.type == "text")
            conversation += (await driven.call_all(calls)).for_anthropic()


@pytest.mark.parametrize("turn", [chat_completions, responses, messages])
async def test_each_api_takes_the_results_of_parallel_calls_pictures_included(scene: Stage, turn: Turn) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    calls: Round = [("media", {}), ("fail", {"message": "oh no"}), ("media", {}), ("echo", {"text": "hi"})]
    with model_api(calls) as api:
        assert "hi" in await turn(api, listing(agent), toolkit(agent))
        assert json.dumps(api.conversation).count("iVBORw0KGgo") == 2, "both pictures"


def test_pictures_of_a_chat_are_told_apart() -> None:
    answers = Answers(one=Answer((Text("see"), Image("AAAA", "image/png"))), two=Answer((Image("BBBB", "image/gif"),)))
    first, second, shown = answers.for_openai()
    assert (first["tool_call_id"], second["tool_call_id"]) == ("one", "two")
    assert "picture 1" in first["content"]
    assert "picture 2" in second["content"]
    labels = {part["text"] for part in shown["content"] if part["type"] == "text"}
    assert {"picture 1:", "picture 2:"} <= labels


def test_a_turn_without_calls_adds_nothing() -> None:
    answers = Answers()
    assert answers.for_openai() == answers.for_openai_responses() == answers.for_anthropic() == []


async def test_calls_of_one_turn_run_side_by_side(scene: Stage) -> None:
    together = asyncio.Barrier(3)

    async def answer(event: str, data: Any) -> Any:
        if event == "client:get_tools":
            return {"tools": [tool("meet")], "req_id": data["req_id"]}
        await together.wait()
        return {"content": [{"type": "text", "text": data["params"]["who"]}], "isError": False}

    await scene.fake(answer=answer)
    agent = await scene.agent()
    answers = await toolkit(agent).call_all([(f"id-{who}", "meet", {"who": who}) for who in "abc"])
    assert {call_id: answer.text for call_id, answer in answers.items()} == {"id-a": "a", "id-b": "b", "id-c": "c"}
    assert await toolkit(agent).call_all([]) == {}


async def test_one_tool_for_all_computers_that_have_it(scene: Stage) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    agent = await with_tools(scene, a=[tool("read", schema)], b=[tool("read", schema)], c=[tool("other")])
    kit = listing(agent)
    assert set(kit.tools) == {"read", "other"}
    parameters = kit.tools["read"].parameters
    assert parameters["properties"]["computer"]["enum"] == ["a", "b"]
    assert parameters["required"] == ["computer", "path"]
    assert "computer" not in kit.tools["other"].parameters["properties"]
    call = toolkit(agent).call
    assert said(await call("read", {"computer": "b", "path": "x"})) == {
        "computer": "b",
        "tool": "read",
        "params": {"path": "x"},
    }
    assert said(await call("other"))["computer"] == "c"
    for wrong in ({"path": "x"}, {"computer": "c", "path": "x"}, {"computer": ["a"], "path": "x"}):
        answer = await call("read", wrong)
        assert answer.is_error
        assert "a, b" in answer.text


async def test_a_tool_with_a_parameter_named_computer_keeps_it(scene: Stage) -> None:
    schema = {"type": "object", "properties": {"computer": {"type": "string"}}}
    agent = await with_tools(scene, a=[tool("t", schema)], b=[tool("t", schema)])
    assert listing(agent).tools["t"].parameters["properties"]["target_computer"]["enum"] == ["a", "b"]
    answer = await toolkit(agent).call("t", {"target_computer": "a", "computer": "mine"})
    assert said(answer) == {"computer": "a", "tool": "t", "params": {"computer": "mine"}}


async def test_names_fit_and_are_unique(scene: Stage) -> None:
    names = ["a.b", "a b", "a_b", "搜索", "检索", "x" * 64, "x" * 65, "x" * 66, "ok-1", "..."]
    agent = await with_tools(scene, a=[tool(name) for name in names])
    kit = listing(agent)
    assert len(kit.tools) == len(names)
    assert all(FITS.fullmatch(name) for name in kit.tools)
    routed = {said(await toolkit(agent).call(name))["tool"] for name in kit.tools}
    assert routed == set(names)


async def test_names_are_the_same_in_another_process(scene: Stage) -> None:
    other = {"type": "object", "properties": {"x": {"type": "string"}}}
    agent = await with_tools(scene, b=[tool("t"), tool("z.z")], a=[tool("t", other), tool("z z")])
    assert set(listing(agent).tools) == set(listing(agent).tools)
    taken = listing(agent).tools["t"]
    assert taken.computers == ("a",), "the alphabetically first Computer has the plain name"


async def test_a_name_that_was_given_stays(scene: Stage) -> None:
    other = {"type": "object", "properties": {"x": {"type": "string"}}}
    agent = await with_tools(scene, m=[tool("t")])
    kit = listing(agent)
    assert kit.tools["t"].computers == ("m",)
    changes = agent.changes()
    await scene.fake("a", answer=lambda event, data: {"tools": [tool("t", other)], "req_id": data["req_id"]})
    await agent.each(changes, 2)
    assert kit.tools["t"].computers == ("m",)
    added = next(name for name in kit.tools if name != "t")
    assert kit.tools[added].computers == ("a",)
    assert FITS.fullmatch(added)


async def test_tools_are_chosen(scene: Stage) -> None:
    agent = await with_tools(
        scene,
        a=[tool("read_file", tags=["files", "safe"]), tool("write_file", tags=["files"]), tool("beep")],
        b=[tool("beep")],
    )

    def names(**choice: Any) -> set[str]:
        return set(listing(agent, Choice(**choice)).tools)

    assert names() == {"read_file", "write_file", "beep"}
    assert names(tags=["safe"]) == {"read_file"}
    assert names(exclude_tags=["files"]) == {"beep"}
    assert names(names=["read_*"]) == {"read_file"}
    assert names(exclude_names=["*_file"]) == {"beep"}
    assert names(computers=["b"]) == {"beep"}
    assert names(exclude_computers=["a", "b"]) == set()
    assert listing(agent, Choice(exclude_computers=["b"])).tools["beep"].computers == ("a",)


SCHEMAS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"type": ["object", "null"]}, set()),
    ({"properties": {"a": {}}}, {"a"}),
    ({"type": "object", "anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, {"a", "b"}),
    ({"oneOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"properties": {"a": {}}, "required": ["a"]}}}, {"a"}),
]


@pytest.mark.parametrize(("schema", "properties"), SCHEMAS)
async def test_schemas_are_made_such_that_models_take_them(
    scene: Stage, schema: dict[str, Any], properties: set[str]
) -> None:
    agent = await with_tools(scene, a=[tool("t", schema)])
    parameters = listing(agent).tools["t"].parameters
    assert parameters["type"] == "object"
    assert set(parameters["properties"]) == properties
    assert not {"anyOf", "oneOf", "allOf"} & set(parameters)


async def test_what_a_model_gets_wrong_it_is_told(scene: Stage) -> None:
    agent = await with_tools(scene, a=[tool("read_file")])
    call = toolkit(agent).call
    unknown = await call("read_fil")
    assert unknown.is_error
    assert "read_file" in unknown.text
    for arguments in ("{", "[1]", "7"):
        assert (await call("read_file", arguments)).is_error
    await agent.disconnect()
    assert (await call("read_file")).is_error, "and there is no tool any more"


async def test_long_results_are_cut(scene: Stage) -> None:
    await scene.computer(raw())
    agent = await scene.agent()
    answer = await toolkit(agent, max_text=100).call("echo", {"text": "x" * 1000})
    assert len(answer.text) < 200
    assert "900 more characters" in answer.text


async def test_a_model_looks_at_the_desktop(scene: Stage) -> None:
    await scene.computer(shelves("s", "--windows", "3"), name="a")
    await scene.computer(shelves("s", "--windows", "1"), name="b")
    agent = await scene.agent()
    kit = toolkit(agent, desktop=True)
    everything = await kit.call("look_at_desktop")
    assert everything.text.count("window://") == 4
    assert (await kit.call("look_at_desktop", {"computer": "a", "size": 2})).text.count("window://") == 2
    assert (await kit.call("look_at_desktop", {"computer": "x"})).is_error
    assert (await kit.call("look_at_desktop", {"size": "2"})).is_error
    assert (await kit.call("look_at_desktop", {"sizes": 2})).is_error


async def test_a_model_reads_skills(scene: Stage, tmp_path: Path) -> None:
    write_skill(tmp_path, "alpha", notes=b"some notes", data=b"\x00")
    await scene.computer(name="a")
    await scene.computer(name="b", skills=tmp_path)
    agent = await scene.agent()
    kit = toolkit(agent, skills=True)
    assert said(await kit.call("read_skill")) == {"a": {}, "b": {"alpha": "About alpha."}}
    assert said(await kit.call("read_skill", {"computer": "b"})) == {"alpha": "About alpha."}
    assert (await kit.call("read_skill", {"name": "alpha"})).text == "Do it.\n"
    assert (await kit.call("read_skill", {"name": "alpha", "file": "notes"})).text == "some notes"
    assert "1 bytes" in (await kit.call("read_skill", {"name": "alpha", "file": "data"})).text
    for name, file, code in (("beta", "", 4014), ("alpha", "nothing", 4017)):
        answer = await kit.call("read_skill", {"name": name, **({"file": file} if file else {})})
        assert (answer.is_error, f"error {code}" in answer.text) == (True, True), answer.text


async def test_a_model_finds_and_reads_documents(scene: Stage) -> None:
    await scene.computer(shelves("s", "--documents", "3", "--host", "one"), name="a")
    await scene.computer(shelves("s", "--documents", "1", "--host", "two"), name="b")
    agent = await scene.agent()
    kit = toolkit(agent, documents=True)
    found = said(await kit.call("find_documents"))
    assert [found[computer]["total_count"] for computer in ("a", "b")] == [3, 1]
    uri = found["b"]["documents"][0]["uri"]
    assert said(await kit.call("read_document", {"uri": uri}))["page_count"] == 3
    page = await kit.call("read_document", {"uri": uri, "page": 1})
    assert page.text.startswith("# ")
    assert (await kit.call("read_document", {"uri": uri, "page": 99})).is_error
    missing = await kit.call("read_document", {"uri": "dpe://two/nothing"})
    assert "4201" in missing.text
    assert (await kit.call("read_document")).is_error
    only = said(await kit.call("find_documents", {"computer": "a", "keywords": ["no such thing"]}))
    assert only == {"documents": [], "total_count": 0}


async def test_tools_of_our_own_do_not_hide_a_computers(scene: Stage) -> None:
    agent = await with_tools(scene, a=[tool("read_document")])
    kit = listing(agent, documents=True)
    others = [name for name in kit.tools if name.startswith("read_document_")]
    assert len(others) == 1
    assert said(await toolkit(agent, documents=True).call(others[0]))["tool"] == "read_document"


async def test_a_document_server_and_the_toolkit_offer_one_set_of_tools(scene: Stage, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    command = {"command": sys.executable, "args": ["-m", "a2c_smcp.cli", "documents", "--no-cache", str(tmp_path)]}
    await scene.computer(server_from({**command, "default_tool_meta": AUTO}, "library"))
    agent = await scene.agent()
    plain, full = listing(agent).tools.keys(), listing(agent, documents=True).tools.keys()
    assert plain == {"list_documents", "search_documents", "read_document"}
    assert full == {"find_documents", "read_document"}


async def test_tools_follow_the_office(scene: Stage) -> None:
    diary = Diary()
    agent = await scene.agent(handler=diary)
    kit = listing(agent)
    assert kit.tools == {}
    await scene.computer(raw())
    await diary.until(lambda: "echo" in kit.tools)
