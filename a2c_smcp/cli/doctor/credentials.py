"""The API key: its format, whether the Server accepts it, and whether it admits to an office."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Any

from a2c_smcp.cli.doctor.findings import Report
from a2c_smcp.cli.doctor.options import Address, Options
from a2c_smcp.computer.computer import Computer
from a2c_smcp.computer.socketio.client import OfficeRefusedError, SMCPComputerClient
from a2c_smcp.errors import (
    ForbiddenError,
    NotAuthenticatedError,
    NotConnectedError,
    OfficeFullError,
    RateLimitedError,
    SMCPError,
    VersionRefusedError,
)
from a2c_smcp.protocol.dialects.known import V0_3_0
from a2c_smcp.protocol.handshake import OFFICIAL, ServerInfo
from a2c_smcp.protocol.terms import SINCE_0_2
from a2c_smcp.smcp import SMCP_NAMESPACE, SMCPTool
from a2c_smcp.utils.text import printable

SOON = 86_400.0
"""A token that expires within this many seconds is a warning."""
STAY = 0.5
"""Seconds in an office. An Agent that is present requests the tools of a new Computer, which shows that it is there."""
WRONG_VERSION = "use a Server of this project, or an official one that this version of a2c can talk to"
KEYS = "create a key on the Server with `a2c keys add NAME --office OFFICE`, and set A2C_API_KEY to it"


# ---------------------------------------------------------------------------------------------------- the key by itself


async def check_key(options: Options, report: Report) -> None:
    """Check the format of the key, and the times of a token, without a connection."""
    key = options.api_key or ""
    if key != key.strip() or not (key.isascii() and key.isprintable()):
        report.fail(
            "the key contains spaces, line breaks or characters that an HTTP header cannot carry",
            "copy it again, without a space or line break at its end",
        )
    elif key[:1] in "'\"" and key[-1:] in "'\"":
        report.warn("the key is in quotation marks", "remove them: an environment file needs none")
    elif key.lower().startswith("bearer "):
        report.fail("the key begins with “Bearer”", "give the key without “Bearer”")
    elif key.count(".") == 2 and (claims := _claims(key)) is not None:
        _check_token(claims, report)
    else:
        report.ok("the format of the key is valid")


def _claims(token: str) -> dict[str, Any] | None:
    """The claims of a JSON Web Token, without verification; None if the text is not a token."""
    import jwt

    try:
        return jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError:
        return None


def _check_token(claims: dict[str, Any], report: Report) -> None:
    """Check what the Server requires of every token, and its times by this machine's clock."""
    now = time.time()
    ends, begins = _time(claims, "exp"), max(_time(claims, "nbf") or 0, _time(claims, "iat") or 0)
    again = "get a new token"
    if ends is None:
        report.fail(
            "the key is a JSON Web Token that never expires; the Server rejects such tokens",
            f"{again} with an `exp` claim",
        )
    elif not isinstance(claims.get("offices"), list):
        report.fail(
            "the key is a JSON Web Token that names no offices",
            f"{again} with an `offices` claim: a list of patterns such as acme-*",
        )
    elif ends <= now:
        report.fail(f"the key is a JSON Web Token that expired on {_date(ends)}", again)
    elif begins > now:
        report.fail(
            f"the key is a JSON Web Token that is not valid before {_date(begins)}",
            "wait until then, or check the clocks of this machine and of the issuer",
        )
    elif ends - now < SOON:
        report.warn(
            f"the key is a JSON Web Token that expires soon, on {_date(ends)}",
            f"{again} before it expires: the Server then closes its connections",
        )
    else:
        report.ok(f"the key is a JSON Web Token, valid until {_date(ends)}")


def _time(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _date(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
    except (OverflowError, ValueError, OSError):  # which one depends on the platform's gmtime
        return "a date in the far future"


# -------------------------------------------------------------------------------------------------------- at the Server


class _Visitor(Computer):
    """A Computer without tools that notices when an Agent requests its tools."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.was_seen = asyncio.Event()

    async def aget_available_tools(self) -> list[SMCPTool]:
        self.was_seen.set()
        return []


async def check_admission(options: Options, report: Report, transports: list[str], *, is_clock_wrong: bool) -> bool:
    """Connect with the key, and join the office if one is given; whether the Server accepts the key."""
    # Real clients, not a copy of their handshake: what works here works for a Computer and an Agent. Without
    # reconnection, so that the first answer of the Server is the finding.
    visitor = _Visitor(options.name or _any_name())
    client = SMCPComputerClient(computer=visitor, ca_file=options.ca_file, dialect=options.dialect, reconnection=False)
    try:
        is_accepted = await _enter(client, options, report, transports, is_clock_wrong)
        if is_accepted and options.office is not None:
            refusal = await _visit(client, visitor, options.office, report)
            if refusal is not None:
                await _look_closer(options, report, transports, visitor.name, options.office, refusal)
        return is_accepted
    finally:
        await client.disconnect()
        await visitor.shutdown()


async def _enter(
    client: SMCPComputerClient, options: Options, report: Report, transports: list[str], is_clock_wrong: bool
) -> bool:
    """Whether the Server accepts the connection."""
    url, key = options.url or "", options.api_key
    try:
        await options.reach(client, transports)
    except NotAuthenticatedError:
        if key is None:
            report.fail("the Server requires a key, and none is given", KEYS)
        else:
            clocks = "; the clocks differ: by the Server's clock, a token may have expired" if is_clock_wrong else ""
            report.fail("the Server rejects the key", f"check that the key is for this Server, or {KEYS}{clocks}")
        return False
    except ForbiddenError as error:
        report.fail(f"the Server rejects the connection: {printable(error.message, 300)}", KEYS)
        return False
    except VersionRefusedError as error:
        report.fail(printable(error.message, 300), WRONG_VERSION)
        return False
    except NotConnectedError as error:
        if error.code == RateLimitedError.code:
            report.fail(
                "the Server rejects the connection: it has too many from this IP address",
                "close some of them, or raise its --connections-per-ip; behind a proxy, see --forwarded-allow-ips",
            )
        else:
            report.fail(
                f"Socket.IO answers, but not in the namespace {SMCP_NAMESPACE}: {printable(error.message, 300)}",
                "check that this is an A2C Server and not another Socket.IO application",
            )
        return False
    if key is not None:
        report.ok("the Server accepts the key")
    elif Address.of(url).is_local:
        report.ok("the Server requires no key")
    else:
        report.warn(
            "the Server admits every client that can reach it",
            "start it with --keys-file, --jwt-key-file or --api-key",
        )
    return True


async def _visit(
    client: SMCPComputerClient, visitor: _Visitor, office: str, report: Report
) -> OfficeRefusedError | None:
    """Join the office and leave it again; returns the error if the Server refuses."""
    try:
        await client.join_office(office)
        info = await client.recognized()
        try:
            async with asyncio.timeout(STAY):
                await visitor.was_seen.wait()
        except TimeoutError:
            pass
        await client.leave_office(office)
    except OfficeRefusedError as error:
        return error
    agent = "an Agent is there and was notified" if visitor.was_seen.is_set() else "no Agent reacted"
    report.ok(f"the office {office} can be joined (joined as {visitor.name} and left; {agent})")
    _tell_dialect(info, report)
    return None


def _tell_dialect(info: ServerInfo, report: Report) -> None:
    """Report what the Server is."""
    if not info.is_official:
        version = f" {printable(info.version, 40)}" if info.version is not None else ""
        report.ok(f"the Server is one of this project, a2c-stack{version}")
    elif info.dialect == OFFICIAL:
        report.note("the Server is an official one; its list of members does not say which version of A2C-SMCP it has")
    elif info.dialect == SINCE_0_2:
        report.ok("the Server is an official one with A2C-SMCP 0.2 or later")
    elif info.dialect == V0_3_0.name:
        report.ok("the Server is an official one with A2C-SMCP 0.3, of a release before 0.3.3")
    else:
        report.ok(f"the Server is an official one with A2C-SMCP {info.dialect}")


async def _look_closer(
    options: Options, report: Report, transports: list[str], name: str, office: str, refusal: OfficeRefusedError
) -> None:
    """Find out why a Computer may not join."""
    # 403 has several causes: the name is taken, the key is for Agents only, or it is for other offices or another name.
    # The message is not for programs to read, so each attempt below changes one of these and looks at the code.
    told = f"the office {office} cannot be joined: {printable(str(refusal), 300)}"
    if refusal.code != ForbiddenError.code:
        report.fail(told, "see the log of the Server")
    elif options.name is not None and await _may_join(options, transports, office):
        report.warn(told, f"choose another --name, unless {name} is your own Computer that is already running")
    elif await _is_for_agents(options, transports, office):
        report.ok(f"the office {office} can be joined by an Agent; this key is not for Computers")
    else:
        report.fail(
            told,
            "a key may be limited to some offices and to one member name (--name): create a key for this office with "
            f"`a2c keys add NAME --office {office}` on the Server",
        )


async def _is_for_agents(options: Options, transports: list[str], office: str) -> bool:
    """Whether an Agent with this key may join the office. OfficeFull counts: the Server checks the key first."""
    from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider

    provider = DefaultAgentAuthProvider(options.name or _any_name(), office)
    agent = AsyncSMCPAgentClient(provider, ca_file=options.ca_file, dialect=options.dialect, reconnection=False)
    try:
        await options.reach(agent, transports)
        await agent.join_office()
    except SMCPError as error:
        return error.code == OfficeFullError.code
    finally:
        await agent.disconnect()
    return True


async def _may_join(options: Options, transports: list[str], office: str) -> bool:
    """Whether a Computer with another name may join."""
    visitor = _Visitor(_any_name())
    client = SMCPComputerClient(computer=visitor, ca_file=options.ca_file, dialect=options.dialect, reconnection=False)
    try:
        await options.reach(client, transports)
        await client.join_office(office)
    except (OfficeRefusedError, NotConnectedError):
        return False
    finally:
        await client.disconnect()
        await visitor.shutdown()
    return True


def _any_name() -> str:
    return f"a2c-doctor-{secrets.token_hex(3)}"
