"""The wire: the namespace, the event names and the form of every payload of A2C-SMCP 0.2.0.

The forms are defined only here. The module imports little, so that any program may import it. An optional filter that
is null counts as absent; a sender omits it.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypeAlias

# pydantic, which validates these types, accepts the TypedDict of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from a2c_smcp.types import Attributes, Role

SMCP_NAMESPACE: Final = "/smcp"

CLIENT_PREFIX: Final = "client:"
SERVER_PREFIX: Final = "server:"
NOTIFY_PREFIX: Final = "notify:"

# ----------------------------------------------------------------- events: Agent -> Server -> one Computer, with an ack
TOOL_CALL_EVENT: Final = "client:tool_call"
GET_TOOLS_EVENT: Final = "client:get_tools"
GET_CONFIG_EVENT: Final = "client:get_config"
GET_DESKTOP_EVENT: Final = "client:get_desktop"
GET_FINDER_EVENT: Final = "client:get_finder"
READ_RESOURCE_EVENT: Final = "client:read_resource"
LIST_RESOURCE_TEMPLATES_EVENT: Final = "client:list_resource_templates"
COMPLETE_EVENT: Final = "client:complete"
LIST_PROMPTS_EVENT: Final = "client:list_prompts"
GET_PROMPT_EVENT: Final = "client:get_prompt"
GET_RESOURCES_EVENT: Final = "client:get_resources"
WATCH_RESOURCE_EVENT: Final = "client:watch_resource"
GET_BLOB_EVENT: Final = "client:get_blob"
PUT_BLOB_EVENT: Final = "client:put_blob"
GET_SKILLS_EVENT: Final = "client:get_skills"
GET_SKILL_EVENT: Final = "client:get_skill"

# ----------------------------------------------------------------------------------------- events: any client -> Server
JOIN_OFFICE_EVENT: Final = "server:join_office"
LEAVE_OFFICE_EVENT: Final = "server:leave_office"
UPDATE_CONFIG_EVENT: Final = "server:update_config"
UPDATE_TOOL_LIST_EVENT: Final = "server:update_tool_list"
UPDATE_DESKTOP_EVENT: Final = "server:update_desktop"
UPDATE_FINDER_EVENT: Final = "server:update_finder"
UPDATE_RESOURCES_EVENT: Final = "server:update_resources"
UPDATE_PROMPTS_EVENT: Final = "server:update_prompts"
UPDATE_SKILLS_EVENT: Final = "server:update_skills"
UPDATE_RESOURCE_EVENT: Final = "server:update_resource"
CANCEL_TOOL_CALL_EVENT: Final = "server:tool_call_cancel"
TOOL_CALL_PROGRESS_EVENT: Final = "server:tool_call_progress"
TOOL_CALL_LOG_EVENT: Final = "server:tool_call_log"
LIST_ROOM_EVENT: Final = "server:list_room"

# -------------------------------------------------------------------------------------- notifications: Server -> office
ENTER_OFFICE_NOTIFICATION: Final = "notify:enter_office"
LEAVE_OFFICE_NOTIFICATION: Final = "notify:leave_office"
UPDATE_CONFIG_NOTIFICATION: Final = "notify:update_config"
UPDATE_TOOL_LIST_NOTIFICATION: Final = "notify:update_tool_list"
UPDATE_DESKTOP_NOTIFICATION: Final = "notify:update_desktop"
UPDATE_FINDER_NOTIFICATION: Final = "notify:update_finder"
UPDATE_RESOURCES_NOTIFICATION: Final = "notify:update_resources"
UPDATE_PROMPTS_NOTIFICATION: Final = "notify:update_prompts"
UPDATE_SKILLS_NOTIFICATION: Final = "notify:update_skills"
UPDATE_RESOURCE_NOTIFICATION: Final = "notify:update_resource"
CANCEL_TOOL_CALL_NOTIFICATION: Final = "notify:tool_call_cancel"

# -------------------------------------------------------------------------- notifications: Server -> the office's Agent
TOOL_CALL_PROGRESS_NOTIFICATION: Final = "notify:tool_call_progress"
TOOL_CALL_LOG_NOTIFICATION: Final = "notify:tool_call_log"


# --------------------------------------------------------------------------------------------------------------- errors
class ErrorBody(TypedDict):
    code: int
    message: str
    details: NotRequired[dict[str, Any]]


class ErrorPayload(TypedDict):
    error: ErrorBody


# ------------------------------------------------------------------------------------------------------ client requests
class AgentCallData(TypedDict):
    """The fields of every `client:*` payload. `agent` is the Agent's name."""

    agent: str
    req_id: str
    computer: str


class InputResponse(TypedDict):
    """The answer to one question: `content` holds the fields of a form that is accepted."""

    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[dict[str, Any] | None]


class ToolCallReq(AgentCallData):
    """`input_responses` and `request_state` continue a call that asked for input; without them, a call begins.

    `traceparent` (W3C Trace Context) is passed on to the MCP server. An Agent that makes calls for several users names
    the user as `principal`, for logs, and so that the question of a call does not reach another user. With a
    `log_level`, it gets the log messages of this level and above that the MCP server writes during the call.

    With `max_inline_bytes`, the Computer replaces each binary that is larger by a handle, and the Agent fetches it with
    `client:get_blob`. Without it, the result contains every binary.
    """

    tool_name: str
    params: dict[str, Any]
    timeout: int
    input_responses: NotRequired[dict[str, InputResponse] | None]
    request_state: NotRequired[str | None]
    traceparent: NotRequired[str | None]
    principal: NotRequired[str | None]
    log_level: NotRequired[str | None]
    max_inline_bytes: NotRequired[int | None]


class InputRequest(TypedDict):
    """A question of an MCP server, as it wrote it: the `params` are those of MCP's `elicitation/create`."""

    method: Literal["elicitation/create"]
    params: dict[str, Any]
    mcp_server: str


class InputRequired(TypedDict):
    """`meta.a2c_input_required` in the result of a call that asks for input. `expires_in` is in seconds.

    `problem` says why the answers before did not fit, if the questions are asked again.
    """

    requests: dict[str, InputRequest]
    request_state: str
    expires_in: int
    problem: NotRequired[str]


class GetToolsReq(AgentCallData):
    """`known_digest` is the `digest` of the list that the Agent has."""

    known_digest: NotRequired[str | None]


class ToolMeta(TypedDict, total=False):
    """The settings of a Computer's owner for a tool. Further keys are kept."""

    auto_apply: bool | None
    alias: str | None
    tags: list[str] | None
    ret_object_mapper: dict[str, Any] | None


class SMCPTool(TypedDict):
    name: str
    description: str
    params_schema: dict[str, Any]
    return_schema: dict[str, Any] | None
    bundle_id: NotRequired[str]
    """The identity of its MCP server, which the configuration has, too; Computers before A2C-SMCP 0.3 send none."""
    meta: NotRequired[Attributes]


class GetToolsRet(TypedDict):
    """With `unchanged`, the Agent has the current list: `tools` is left out on the wire, and empty in Python."""

    tools: list[SMCPTool]
    req_id: str
    digest: NotRequired[str]
    """A short text that differs for each list; a Computer of another implementation sends none."""
    unchanged: NotRequired[bool]


# The spelling of the protocol's documents, which programs import.
class GetDeskTopReq(AgentCallData):
    desktop_size: NotRequired[int | None]
    window: NotRequired[str | None]


Desktop: TypeAlias = str
"""One rendered window: its URI, a blank line, its text."""


class GetDeskTopRet(TypedDict):
    desktops: list[Desktop]
    req_id: str


class GetFinderReq(AgentCallData):
    keywords: NotRequired[list[str] | None]
    file_type: NotRequired[str | None]
    offset: NotRequired[int | None]
    limit: NotRequired[int | None]


class DPEDocumentSummary(TypedDict):
    doc_ref: str
    uri: str
    file_uri: str
    file_type: str
    title: str
    page_count: int
    server: str
    keywords: NotRequired[list[str]]
    summary: NotRequired[str]
    last_modified: NotRequired[str]


class DPEPageSummary(TypedDict):
    page_index: int
    title: str
    element_count: int
    uri: str
    doc_ref: NotRequired[str]


class DPEElementDetail(TypedDict):
    element_id: str
    category: str
    content: dict[str, Any]
    summary: NotRequired[str]
    doc_ref: NotRequired[str]
    page_index: NotRequired[int]
    uri: NotRequired[str]
    metadata: NotRequired[dict[str, Any]]


class GetFinderRet(TypedDict):
    documents: list[DPEDocumentSummary]
    total_count: int
    unindexed_count: NotRequired[int]
    """Documents that the Computer does not count, because its index is full."""
    req_id: str


class ReadResourceReq(AgentCallData):
    """`mcp_server` may be left out where only one MCP server has the resource. `max_inline_bytes` is that of
    `ToolCallReq`."""

    uri: str
    mcp_server: NotRequired[str | None]
    max_inline_bytes: NotRequired[int | None]


# The keys in camel case are those of MCP: the Computer passes such objects on as the MCP server wrote them.
class ResourceContents(TypedDict):
    """One part of an MCP `resources/read` answer: `text` or `blob` (base64)."""

    uri: str
    mimeType: NotRequired[str]
    text: NotRequired[str]
    blob: NotRequired[str]


class ReadResourceRet(TypedDict):
    contents: list[ResourceContents]
    req_id: str


class ListResourceTemplatesReq(AgentCallData):
    """Without `mcp_server`: the templates of all MCP servers. `cursor` is the `next_cursor` of the page before."""

    mcp_server: NotRequired[str | None]
    cursor: NotRequired[str | None]


class ResourceTemplate(TypedDict):
    """A template as MCP writes it, and the MCP server that has it. Further keys are kept."""

    uriTemplate: str
    name: str
    mcp_server: str
    title: NotRequired[str]
    description: NotRequired[str]
    mimeType: NotRequired[str]


class ListResourceTemplatesRet(TypedDict):
    templates: list[ResourceTemplate]
    req_id: str
    next_cursor: NotRequired[str]


class GetResourcesReq(AgentCallData):
    """Without `mcp_server`: the resources of all MCP servers. `cursor` is the `next_cursor` of the page before."""

    mcp_server: NotRequired[str | None]
    cursor: NotRequired[str | None]


class ResourceInfo(TypedDict):
    """A listed resource, with the MCP server that has it. Further keys are kept."""

    uri: str
    name: str
    mcp_server: str
    title: NotRequired[str]
    description: NotRequired[str]
    mime_type: NotRequired[str]
    size: NotRequired[int]
    icons: NotRequired[list[Any]]
    annotations: NotRequired[dict[str, Any]]
    _meta: NotRequired[dict[str, Any]]


class GetResourcesRet(TypedDict):
    resources: list[ResourceInfo]
    req_id: str
    next_cursor: NotRequired[str]


class WatchResourceReq(AgentCallData):
    """With `watch: false`, the Agent does not watch the resource any more."""

    uri: str
    mcp_server: NotRequired[str | None]
    watch: NotRequired[bool]


class WatchResourceRet(TypedDict):
    req_id: str


class ListPromptsReq(AgentCallData):
    """Without `mcp_server`: the prompts of all MCP servers. `cursor` is the `next_cursor` of the page before."""

    mcp_server: NotRequired[str | None]
    cursor: NotRequired[str | None]


class Prompt(TypedDict):
    """A prompt as MCP writes it, and the MCP server that has it. Further keys are kept."""

    name: str
    mcp_server: str
    title: NotRequired[str]
    description: NotRequired[str]
    arguments: NotRequired[list[dict[str, Any]]]


class ListPromptsRet(TypedDict):
    prompts: list[Prompt]
    req_id: str
    next_cursor: NotRequired[str]


class GetPromptReq(AgentCallData):
    """`mcp_server` may be left out where only one MCP server has a prompt of this name.

    An Agent that can answer questions sends `input_responses`: none at first. The answer may then have no messages and
    `meta.a2c_input_required`. The same request with the answers and the `request_state` continues.
    """

    name: str
    arguments: NotRequired[dict[str, str] | None]
    mcp_server: NotRequired[str | None]
    input_responses: NotRequired[dict[str, InputResponse] | None]
    request_state: NotRequired[str | None]


class GetPromptRet(TypedDict):
    """The messages of a prompt, as MCP writes them."""

    messages: list[dict[str, Any]]
    req_id: str
    description: NotRequired[str]
    meta: NotRequired[dict[str, Any]]


class CompletionReference(TypedDict):
    """What to complete: a resource template (`ref/resource` and its `uri`) or a prompt (`ref/prompt`, its `name`)."""

    type: Literal["ref/resource", "ref/prompt"]
    uri: NotRequired[str]
    name: NotRequired[str]


class CompletionArgument(TypedDict):
    name: str
    value: str


class CompletionContext(TypedDict):
    """The arguments that were chosen before."""

    arguments: NotRequired[dict[str, str] | None]


class CompleteReq(AgentCallData):
    """`mcp_server` may be left out where only one MCP server has the template or prompt."""

    ref: CompletionReference
    argument: CompletionArgument
    context: NotRequired[CompletionContext | None]
    mcp_server: NotRequired[str | None]


class Completion(TypedDict):
    """The MCP `completion`: up to 100 values."""

    values: list[str]
    total: NotRequired[int]
    hasMore: NotRequired[bool]


class CompleteRet(TypedDict):
    completion: Completion
    req_id: str


class GetBlobReq(AgentCallData):
    """A part of a binary, from `chunk_offset` on. Any part can be requested, also several at once."""

    blob_handle: str
    chunk_offset: NotRequired[int | None]
    max_chunk_bytes: NotRequired[int | None]


class GetBlobRet(TypedDict):
    """`blob` is the part in base64; `total_size` and `sha256` describe the whole binary."""

    blob_handle: str
    mime_type: str
    total_size: int
    sha256: str
    chunk_offset: int
    eof: bool
    blob: str
    req_id: str


class PutBlobReq(AgentCallData):
    """A part of an upload. The first part declares `total_size` and `sha256`; all others name the `upload_id`."""

    chunk_offset: int
    eof: bool
    blob: str
    upload_id: NotRequired[str | None]
    total_size: NotRequired[int | None]
    sha256: NotRequired[str | None]
    name_hint: NotRequired[str | None]


class PutBlobRet(TypedDict):
    """`landing_path`, `total_size` and `sha256` are in the answer to the last part."""

    upload_id: str
    chunk_offset: int
    req_id: str
    landing_path: NotRequired[str]
    total_size: NotRequired[int]
    sha256: NotRequired[str]


class GetSkillsReq(AgentCallData):
    pass


class SkillReference(TypedDict):
    """A skill of a Computer: a folder with a `SKILL.md`. Further keys are kept."""

    name: str
    source: str
    path: str
    description: str
    uri: NotRequired[str]
    license: NotRequired[str]
    compatibility: NotRequired[str]
    allowed_tools: NotRequired[list[str]]
    version: NotRequired[str]
    skill_metadata: NotRequired[dict[str, Any]]
    tags: NotRequired[list[str]]


class GetSkillsRet(TypedDict):
    skills: list[SkillReference]
    req_id: str


class GetSkillReq(AgentCallData):
    """`rel_path` names a file of the skill; without it, its `SKILL.md`."""

    name: str
    rel_path: NotRequired[str | None]


class GetSkillRet(TypedDict):
    """A file of a skill: a short text as `body`, anything else as `blob_handle`."""

    name: str
    rel_path: str
    mime_type: str
    total_size: int
    sha256: str
    req_id: str
    body: NotRequired[str]
    blob_handle: NotRequired[str]


class GetComputerConfigReq(AgentCallData):
    pass


# ------------------------------------------------------------------------------------------ server requests and notices
class EnterOfficeReq(TypedDict):
    role: Role
    name: str
    office_id: str


class LeaveOfficeReq(TypedDict):
    office_id: str


class UpdateComputerConfigReq(TypedDict):
    """Any `server:update_*` that announces a change of the Computer: the sender's own name."""

    computer: str


class UpdateResourceReq(TypedDict):
    """`server:update_resource`: a resource that an Agent watches changed. The Server sends it to that Agent only."""

    computer: str
    uri: str
    mcp_server: NotRequired[str]


# Without a Computer: the Server sends the notification to the office, and the Computer that runs the call ends it.
class CancelToolCallReq(TypedDict):
    agent: str
    req_id: str


class ToolCallProgress(TypedDict):
    """`server:tool_call_progress` and `notify:tool_call_progress`: how far the call `req_id` of the Agent is."""

    computer: str
    req_id: str
    progress: float
    total: NotRequired[float | None]
    message: NotRequired[str | None]


class LogEntry(TypedDict):
    """A log message of an MCP server, as it wrote it."""

    level: str
    data: Any
    logger: NotRequired[str | None]


class ToolCallLog(TypedDict):
    """`server:tool_call_log` and `notify:tool_call_log`: what the MCP server wrote during the call `req_id`."""

    computer: str
    req_id: str
    messages: list[LogEntry]


class ListRoomReq(TypedDict):
    agent: str
    req_id: str
    office_id: str


class SessionInfo(TypedDict):
    """`a2c_version` is the version of the protocol that the member named when it connected; `a2c_stack` that of this
    project, if the member is one of its clients."""

    sid: str
    name: str
    role: Role
    office_id: str
    a2c_version: NotRequired[str]
    a2c_stack: NotRequired[str]


class ListRoomRet(TypedDict):
    sessions: list[SessionInfo]
    req_id: str


class EnterOfficeNotification(TypedDict):
    """Holds `agent` or `computer`, by the newcomer's role."""

    office_id: str
    agent: NotRequired[str]
    computer: NotRequired[str]


class LeaveOfficeNotification(TypedDict):
    """Holds `agent` or `computer`, by the leaver's role."""

    office_id: str
    agent: NotRequired[str]
    computer: NotRequired[str]


class UpdateMCPConfigNotification(TypedDict):
    computer: str


class UpdateToolListNotification(TypedDict):
    computer: str


class UpdateDesktopNotification(TypedDict):
    computer: str


class UpdateFinderNotification(TypedDict):
    computer: str


class UpdateSkillsNotification(TypedDict):
    computer: str


class UpdateResourceNotification(TypedDict):
    """A resource that the Agent watches changed."""

    computer: str
    uri: str
    mcp_server: NotRequired[str]


class CancelToolCallNotification(TypedDict):
    agent: str
    req_id: str


# --------------------------------------------------------------------------------------------- configuration and inputs
class BaseMCPServerConfig(TypedDict):
    """`bundle_id` is the identity of the MCP server, for which its name is only a label."""

    name: str
    bundle_id: NotRequired[str]
    disabled: bool
    forbidden_tools: list[str]
    tool_meta: dict[str, ToolMeta]
    default_tool_meta: NotRequired[ToolMeta | None]
    vrl: NotRequired[str | None]


class MCPServerStdioParameters(TypedDict):
    command: str
    args: list[str]
    env: dict[str, str] | None
    cwd: str | None
    encoding: str
    encoding_error_handler: Literal["strict", "ignore", "replace"]


class MCPServerStdioConfig(BaseMCPServerConfig):
    type: Literal["stdio"]
    server_parameters: MCPServerStdioParameters


class MCPServerStreamableHttpParameters(TypedDict):
    """`timeout` and `sse_read_timeout` are ISO-8601 durations. A text in place of a bool is a placeholder."""

    url: str
    headers: dict[str, Any] | None
    timeout: str
    sse_read_timeout: str
    terminate_on_close: bool | str
    oauth: NotRequired[dict[str, Any]]


class MCPServerStreamableHttpConfig(BaseMCPServerConfig):
    type: Literal["streamable"]
    server_parameters: MCPServerStreamableHttpParameters


class MCPSSEParameters(TypedDict):
    """`timeout` and `sse_read_timeout` are seconds. A text in place of a number is a placeholder."""

    url: str
    headers: dict[str, Any] | None
    timeout: float | str
    sse_read_timeout: float | str
    oauth: NotRequired[dict[str, Any]]


class MCPSSEConfig(BaseMCPServerConfig):
    type: Literal["sse"]
    server_parameters: MCPSSEParameters


MCPServerConfig: TypeAlias = MCPServerStdioConfig | MCPServerStreamableHttpConfig | MCPSSEConfig


class MCPServerInputBase(TypedDict):
    id: str
    description: str


class MCPServerPromptStringInput(MCPServerInputBase):
    type: Literal["promptString"]
    default: NotRequired[str | None]
    password: NotRequired[bool | None]


class PickOption(TypedDict):
    """An option whose `label` a person sees."""

    label: str
    value: str


class MCPServerPickStringInput(MCPServerInputBase):
    type: Literal["pickString"]
    options: list[str | PickOption]
    default: NotRequired[str | None]


class MCPServerCommandInput(MCPServerInputBase):
    type: Literal["command"]
    command: str
    args: NotRequired[dict[str, str] | list[str] | None]
    shell: NotRequired[bool]
    timeout: NotRequired[float]


MCPServerInput: TypeAlias = MCPServerPromptStringInput | MCPServerPickStringInput | MCPServerCommandInput


class GetComputerConfigRet(TypedDict):
    """Placeholders stay unresolved: a secret never leaves the Computer."""

    inputs: NotRequired[list[MCPServerInput] | None]
    servers: dict[str, MCPServerConfig]
