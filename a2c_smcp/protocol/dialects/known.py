"""Every dialect that this project speaks: a table of how they differ."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from a2c_smcp import smcp
from a2c_smcp.errors import (
    BlobUnavailableError,
    CapabilityMissingError,
    CrossOfficeError,
    ForbiddenError,
    InternalError,
    LoginNeededError,
    LoginRefusedError,
    MalformedRequestError,
    MCPServerNotFoundError,
    NotFoundError,
    NotInOfficeError,
    OfficeFullError,
    OfficeNotFoundError,
    SkillFileError,
    SkillNameError,
    UploadRefusedError,
    VersionRefusedError,
)
from a2c_smcp.protocol.dialects.dialect import Dialect
from a2c_smcp.protocol.dialects.refusals import IN_ANOTHER_OFFICE, FlatForm

_OFFICIAL_MESSAGE = 4_000_000
"""Official clients keep the limit of aiohttp's WebSocket, 4 MiB, and lose the connection above it."""

_OURS_ALONE = frozenset(
    (
        smcp.GET_FINDER_EVENT,
        smcp.READ_RESOURCE_EVENT,
        smcp.LIST_RESOURCE_TEMPLATES_EVENT,
        smcp.COMPLETE_EVENT,
        smcp.LIST_PROMPTS_EVENT,
        smcp.GET_PROMPT_EVENT,
        smcp.WATCH_RESOURCE_EVENT,
    )
)
_SINCE_0_2 = frozenset((smcp.GET_RESOURCES_EVENT, smcp.GET_SKILLS_EVENT, smcp.GET_SKILL_EVENT, smcp.GET_BLOB_EVENT))
_SINCE_0_4 = frozenset((smcp.PUT_BLOB_EVENT,))

_CODES_0_2 = frozenset(
    error.code
    for error in (
        NotFoundError,
        LoginNeededError,
        LoginRefusedError,
        VersionRefusedError,
        MCPServerNotFoundError,
        CapabilityMissingError,
        SkillNameError,
        SkillFileError,
        BlobUnavailableError,
    )
)
_CODES_0_4 = _CODES_0_2 | {UploadRefusedError.code}
_CODES_0_5 = _CODES_0_4 | {
    MalformedRequestError.code,
    ForbiddenError.code,
    InternalError.code,
    OfficeFullError.code,
    OfficeNotFoundError.code,
    NotInOfficeError.code,
    CrossOfficeError.code,
    IN_ANOTHER_OFFICE,
}

HOME: Final = Dialect("s")
"""That of this project, for clients that say so in their handshake."""

PLAIN: Final = Dialect(
    "plain",
    lacks=_SINCE_0_2 | _SINCE_0_4,
    options="texts",
    ends_cancelled_calls=False,
)
"""That of clients that name no version: official ones of 0.1, and older ones of this project."""
V0_1: Final = replace(PLAIN, name="0.1", largest_message=_OFFICIAL_MESSAGE)
"""That of those among them that would lose their connection by a large message."""

V0_2: Final = Dialect(
    "0.2",
    lacks=_OURS_ALONE | _SINCE_0_4,
    errors=FlatForm(_CODES_0_2, server_field="mcp_server_name"),
    options="texts",
    has_handles=True,
    largest_message=_OFFICIAL_MESSAGE,
)
V0_3: Final = Dialect(
    "0.3",
    lacks=_OURS_ALONE | _SINCE_0_4,
    errors=FlatForm(_CODES_0_2),
    has_bundle_ids=True,
    options="objects",
    has_handles=True,
    largest_message=_OFFICIAL_MESSAGE,
)
V0_3_0: Final = replace(V0_3, name="0.3.0", options="texts")
"""That of the release 0.3.0. The releases 0.3.1 and 0.3.2 spell options like it, but name the same version as 0.3.3."""
V0_4: Final = Dialect(
    "0.4",
    lacks=_OURS_ALONE,
    errors=FlatForm(_CODES_0_4),
    has_bundle_ids=True,
    options="objects",
    has_handles=True,
    largest_message=_OFFICIAL_MESSAGE,
)
V0_5: Final = Dialect(
    "0.5",
    lacks=_OURS_ALONE,
    errors=FlatForm(_CODES_0_5),
    has_bundle_ids=True,
    options="objects",
    has_empty_yes=True,
    has_handles=True,
    largest_message=_OFFICIAL_MESSAGE,
)
"""That of the drafts: only what is known of it by now."""

DIALECTS: Final = MappingProxyType({each.name: each for each in (HOME, PLAIN, V0_1, V0_2, V0_3_0, V0_3, V0_4, V0_5)})
"""By name."""


def dialect_named(name: str) -> Dialect:
    """A dialect by its name in a member's record. One that this Server does not know, of a newer node of its cluster,
    counts as plain."""
    return DIALECTS.get(name, PLAIN)
