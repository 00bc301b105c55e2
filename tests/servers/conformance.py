"""An MCP server with the tools, resources and prompts that the official conformance runner expects of a server.

It answers in both protocol eras at `/mcp`, and only as of 2026-07-28 at `/modern/mcp`.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import anyio
import mcp_types as types
from listening import serve
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.routing import Mount

Context: TypeAlias = ServerRequestContext[Any, Any]
Result: TypeAlias = types.CallToolResult | types.InputRequiredResult
Tool: TypeAlias = Callable[[Context, types.CallToolRequestParams], Awaitable[Result]]
Answers: TypeAlias = Mapping[str, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0").decode()
PAUSE = 0.05
SECRET = secrets.token_bytes(16)
MISSING_CAPABILITY = -32021
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADERS: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}

TOOLS: dict[str, Tool] = {}
SCHEMAS: dict[str, dict[str, Any]] = {}
BUS = InMemorySubscriptionBus()
NUMBERS = itertools.count()


def tool(schema: dict[str, Any] = NOTHING, name: str | None = None) -> Callable[[Tool], Tool]:
    """Offer a function as a tool."""

    def add(function: Tool) -> Tool:
        given = name or function.__name__  # type: ignore[attr-defined]
        TOOLS[given] = function
        SCHEMAS[given] = schema
        return function

    return add


def with_texts(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}


def text(words: str) -> types.TextContent:
    return types.TextContent(text=words)


def said(words: str) -> types.CallToolResult:
    return types.CallToolResult(content=[text(words)])


def embedded(uri: str, mime_type: str, words: str) -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=words))


# ------------------------------------------------------------------------------------------------------------- contents


@tool()
async def test_simple_text(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return said("This is a simple text response for testing.")


@tool()
async def test_image_content(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return types.CallToolResult(content=[types.ImageContent(data=PNG, mime_type="image/png")])


@tool()
async def test_audio_content(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return types.CallToolResult(content=[types.AudioContent(data=WAV, mime_type="audio/wav")])


@tool()
async def test_embedded_resource(ctx: Context, params: types.CallToolRequestParams) -> Result:
    resource = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return types.CallToolResult(content=[resource])


@tool()
async def test_multiple_content_types(ctx: Context, params: types.CallToolRequestParams) -> Result:
    data = json.dumps({"test": "data", "value": 123})
    resource = embedded("test://mixed-content-resource", "application/json", data)
    image = types.ImageContent(data=PNG, mime_type="image/png")
    return types.CallToolResult(content=[text("Multiple content types test:"), image, resource])


@tool()
async def test_error_handling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    words = "This tool intentionally returns an error for testing"
    return types.CallToolResult(content=[text(words)], is_error=True)


@tool(SCHEMA_2020_12)
async def json_schema_2020_12_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return said(json.dumps(params.arguments))


@tool(HEADERS)
async def test_headers(ctx: Context, params: types.CallToolRequestParams) -> Result:
    return said(json.dumps(params.arguments))


# -------------------------------------------------------------------------------------------------------- notifications


@tool(name="test_tool_with_logging")
@tool(name="test_logging_tool")
async def log(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)  # pyright: ignore[reportDeprecated]
        await anyio.sleep(PAUSE)
    return said("done")


@tool()
async def test_tool_with_progress(ctx: Context, params: types.CallToolRequestParams) -> Result:
    for progress in (0, 50, 100):
        await ctx.session.report_progress(progress, 100)
        await anyio.sleep(PAUSE)
    return said("done")


def replacing(things: dict[str, Any]) -> str:
    """Remove what was added before; a new name. Runs at the same time must not undo the changes of each other."""
    for name in [name for name in things if name.startswith("test_added_")]:
        del things[name]
    return f"test_added_{next(NUMBERS)}"


@tool()
async def test_trigger_tool_change(ctx: Context, params: types.CallToolRequestParams) -> Result:
    name = replacing(TOOLS)
    TOOLS[name], SCHEMAS[name] = test_simple_text, NOTHING
    await ctx.session.send_tool_list_changed()
    await BUS.publish(ToolsListChanged())
    return said("changed")


@tool()
async def test_trigger_prompt_change(ctx: Context, params: types.CallToolRequestParams) -> Result:
    PROMPTS[replacing(PROMPTS)] = ()
    await ctx.session.send_prompt_list_changed()
    await BUS.publish(PromptsListChanged())
    return said("changed")


@tool()
async def test_reconnection(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    return said("Reconnection test completed")


# ------------------------------------------------------------------------------------------------------------ questions


def form(message: str, properties: dict[str, Any], *required: str) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(required or properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, tokens: int = 100) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=text(prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


ROOTS = types.ListRootsRequest()
NAME = form("What is your name?", {"name": {"type": "string"}})


def signed(words: str) -> str:
    return f"{words}.{hmac.new(SECRET, words.encode(), hashlib.sha256).hexdigest()}"


def opened(state: str) -> str:
    words = state.rpartition(".")[0]
    if not hmac.compare_digest(signed(words), state):
        raise MCPError(code=types.INVALID_PARAMS, message="requestState: it was changed")
    return words


def given(params: types.CallToolRequestParams | types.GetPromptRequestParams) -> dict[str, Any]:
    """The answers of the client, as it wrote them."""
    answers = params.input_responses or {}
    return {key: answer.model_dump(by_alias=True, mode="json") for key, answer in answers.items()}


async def consult(
    ctx: Context, params: types.CallToolRequestParams, state: str | None, **requests: types.InputRequest
) -> Answers | types.InputRequiredResult:
    """The client's answers, or the result that asks for them. `state` is what the client has to send with them."""
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answers = given(params)
        is_ours = state is None or (params.request_state is not None and opened(params.request_state) == state)
        if is_ours and all(_fits(request, answers.get(key)) for key, request in requests.items()):
            return answers
        return types.InputRequiredResult(input_requests=requests, request_state=state and signed(state))
    found: dict[str, Any] = {}
    for key, request in requests.items():
        found[key] = (await ask(ctx, request)).model_dump(by_alias=True, mode="json")
    return found


async def ask(ctx: Context, request: types.InputRequest) -> Any:
    """Ask the client in the way of protocols before 2026-07-28."""
    session = ctx.session
    match request:
        case types.ElicitRequest(params=types.ElicitRequestFormParams() as params):
            return await session.elicit_form(params.message, params.requested_schema, ctx.request_id)
        case types.CreateMessageRequest(params=params):
            return await session.create_message(  # pyright: ignore[reportDeprecated]
                params.messages, max_tokens=params.max_tokens, related_request_id=ctx.request_id
            )
        case _:
            return await session.list_roots()  # pyright: ignore[reportDeprecated]


def _fits(request: types.InputRequest, answer: Any) -> bool:
    if answer is None:
        return False
    return not isinstance(request, types.ElicitRequest) or answer.get("action") in ("accept", "decline", "cancel")


def asks(name: str, state: str | None = None, reply: str = "done", **requests: types.InputRequest) -> None:
    """Offer a tool that asks, and then says `reply` and what it was answered."""

    @tool(name=name)
    async def _(ctx: Context, params: types.CallToolRequestParams) -> Result:
        answers = await consult(ctx, params, state, **requests)
        if isinstance(answers, types.InputRequiredResult):
            return answers
        return said(f"{reply}: {json.dumps(answers)}")


asks("test_input_required_result_elicitation", user_name=NAME)
asks("test_input_required_result_sampling", capital_question=sample("What is the capital of France?"))
asks("test_input_required_result_list_roots", client_roots=ROOTS)
CONFIRM = form("Please confirm", {"ok": {"type": "boolean"}})
asks("test_input_required_result_request_state", "confirm", "state-ok", confirm=CONFIRM)
asks("test_input_required_result_tampered_state", "tampered", confirm=CONFIRM)
asks(
    "test_input_required_result_multiple_inputs",
    "multiple",
    user_name=NAME,
    greeting=sample("Generate a greeting", 50),
    client_roots=ROOTS,
)
asks("test_streaming_elicitation", user_name=NAME)
asks(
    "test_elicitation_sep1034_defaults",
    user=form(
        "Please check",
        {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
    ),
)
OPTIONS = ["option1", "option2", "option3"]
VALUES = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
asks(
    "test_elicitation_sep1330_enums",
    user=form(
        "Please choose",
        {
            "untitledSingle": {"type": "string", "enum": OPTIONS},
            "titledSingle": {"type": "string", "oneOf": VALUES},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
            "titledMulti": {"type": "array", "items": {"anyOf": VALUES}},
        },
    ),
)


@tool(with_texts("message"))
async def test_elicitation(ctx: Context, params: types.CallToolRequestParams) -> Result:
    fields = {"username": {"type": "string"}, "email": {"type": "string"}}
    message = (params.arguments or {})["message"]
    answers = await consult(ctx, params, None, user=form(message, fields))
    return answers if isinstance(answers, types.InputRequiredResult) else said(f"User response: {json.dumps(answers)}")


@tool(with_texts("prompt"))
async def test_sampling(ctx: Context, params: types.CallToolRequestParams) -> Result:
    answers = await consult(ctx, params, None, answer=sample((params.arguments or {})["prompt"]))
    return answers if isinstance(answers, types.InputRequiredResult) else said(f"LLM response: {json.dumps(answers)}")


@tool()
async def test_input_required_result_multi_round(ctx: Context, params: types.CallToolRequestParams) -> Result:
    first = form("Step 1: What is your name?", {"name": {"type": "string"}})
    second = form("Step 2: What is your favorite color?", {"color": {"type": "string"}})
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return said(f"{await ask(ctx, first)} {await ask(ctx, second)}")
    is_second = params.request_state is not None and opened(params.request_state) == "round 2"
    answers = await consult(ctx, params, "round 2" if is_second else "round 1", step2=second) if is_second else (
        await consult(ctx, params, "round 1", step1=first)
    )  # fmt: skip
    if isinstance(answers, types.InputRequiredResult):
        return answers
    if is_second:
        return said(f"done: {json.dumps(answers)}")
    return types.InputRequiredResult(input_requests={"step2": second}, request_state=signed("round 2"))


@tool()
async def test_input_required_result_capabilities(ctx: Context, params: types.CallToolRequestParams) -> Result:
    capabilities = ctx.session.client_capabilities or types.ClientCapabilities()
    requests: dict[str, types.InputRequest] = {}
    if capabilities.elicitation is not None:
        requests["user_name"] = NAME
    if capabilities.sampling is not None:
        requests["greeting"] = sample("Generate a greeting")
    if not requests:
        return said("nobody to ask")
    answers = await consult(ctx, params, None, **requests)
    return answers if isinstance(answers, types.InputRequiredResult) else said(json.dumps(answers))


@tool()
async def test_missing_capability(ctx: Context, params: types.CallToolRequestParams) -> Result:
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(code=MISSING_CAPABILITY, message="this tool needs sampling", data=needed)
    return said("done")


# ------------------------------------------------------------------------------------------------ resources and prompts

RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=PNG),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="This resource changes."
    ),
}
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
"""The prompts, and the arguments that each requires."""


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    contents = RESOURCES.get(uri)
    parts = urlsplit(uri)
    if contents is None and parts.scheme == "test" and parts.netloc == "template":
        number = parts.path.split("/")[1]
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
    if contents is None:
        is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        code = types.INVALID_PARAMS if is_modern else -32002
        raise MCPError(code=code, message="Resource not found", data={"uri": uri})
    return types.ReadResourceResult(contents=[contents], **LASTING)


async def get_prompt(
    ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    arguments = params.arguments or {}
    content: list[types.ContentBlock]
    match params.name:
        case "test_simple_prompt":
            content = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            content = [text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            resource = embedded(arguments["resourceUri"], "text/plain", "Embedded resource content for testing.")
            content = [resource, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            content = [types.ImageContent(data=PNG, mime_type="image/png"), text("Please analyze the image above.")]
        case "test_input_required_result_prompt":
            question = form("What context should the prompt use?", {"context": {"type": "string"}})
            if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                content = [text(str(await ask(ctx, question)))]
            elif "user_context" in (answers := given(params)):
                content = [text(json.dumps(answers))]
            else:
                return types.InputRequiredResult(input_requests={"user_context": question})
        case _:
            raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown prompt: {params.name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=part) for part in content])


# ----------------------------------------------------------------------------------------------------------- the server

LASTING: dict[str, Any] = {"ttl_ms": 0, "cache_scope": "private"}


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    tools = [types.Tool(name=name, description=f"The fixture {name}.", input_schema=SCHEMAS[name]) for name in TOOLS]
    return types.ListToolsResult(tools=tools, **LASTING)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> Result:
    if params.name not in TOOLS:
        raise MCPError(code=types.INVALID_PARAMS, message=f"Unknown tool: {params.name}")
    return await TOOLS[params.name](ctx, params)


async def list_resources(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    resources = [
        types.Resource(uri=uri, name=uri.rpartition("/")[2], description="A fixture.", mime_type=contents.mime_type)
        for uri, contents in RESOURCES.items()
    ]
    return types.ListResourcesResult(resources=resources, **LASTING)


async def list_templates(
    ctx: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="A fixture.",
        mime_type="application/json",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template], **LASTING)


async def list_prompts(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    prompts = [
        types.Prompt(
            name=name,
            description=f"The fixture {name}.",
            arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
        )
        for name, arguments in PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=prompts, **LASTING)


async def complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [word for word in ("test", "tests", "other") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def accept(ctx: Context, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def make_server(*, is_modern_only: bool) -> Server[Any]:
    """The server, in both protocol eras or only as of 2026-07-28."""
    server: Server[Any] = Server(
        "conformance",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        get_tool_input_schema=SCHEMAS.get,
    )

    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept)

    async def refuse_initialize(ctx: Context, call_next: Any) -> Any:
        if ctx.method == "initialize":
            data = {"supported": list(MODERN_PROTOCOL_VERSIONS)}
            raise MCPError(code=-32022, message="Unsupported protocol version", data=data)
        return await call_next(ctx)

    if is_modern_only:
        server.middleware.append(refuse_initialize)
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    apps = [make_server(is_modern_only=is_only).streamable_http_app() for is_only in (False, True)]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for app in apps:
                await stack.enter_async_context(app.router.lifespan_context(app))
            yield

    serve(Starlette(routes=[Mount("/modern", apps[1]), Mount("/", apps[0])], lifespan=lifespan), "/mcp", options.port)


if __name__ == "__main__":
    main()
