"""The key: whether it can be one at all, whether the Server takes it, and whether it opens an office."""

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
)
from a2c_smcp.smcp import SMCP_NAMESPACE, SMCPTool
from a2c_smcp.utils.text import printable

SOON = 86_400.0
"""Seconds before its end from which on a token is told to expire."""
STAY = 0.5
"""Seconds in an office, for an Agent that is there to show itself."""
KEYS = "`a2c keys add NAME --office OFFICE` at the Server makes one; it goes into A2C_API_KEY"


# ---------------------------------------------------------------------------------------------------- the key by itself


async def check_key(options: Options, report: Report) -> None:
    """What can be seen of a key without asking anybody."""
    key = options.api_key or ""
    if key != key.strip() or not (key.isascii() and key.isprintable()):
        report.fail(
            "the key has spaces, line ends or letters in it that no HTTP header can carry",
            "copy it again; in a file, see that nothing follows it",
        )
    elif key[:1] in "'\"" and key[-1:] in "'\"":
        report.warn("the key stands in quotation marks", "an environment file needs none: remove them")
    elif key.lower().startswith("bearer "):
        report.fail("the key begins with “Bearer”", "give the key alone")
    elif key.count(".") == 2 and (claims := _claims(key)) is not None:
        _check_token(claims, report)
    else:
        report.ok("a key is given, and can be sent")


def _claims(token: str) -> dict[str, Any] | None:
    """What a JSON Web Token says, unverified; None if it is none."""
    import jwt

    try:
        return jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError:
        return None


def _check_token(claims: dict[str, Any], report: Report) -> None:
    """The times of a token, by this machine's clock."""
    now = time.time()
    ends, begins = _time(claims, "exp"), max(_time(claims, "nbf") or 0, _time(claims, "iat") or 0)
    again = "have a new one issued"
    if ends is None:
        report.fail("the key is a JSON Web Token that never expires: the Server takes none", f"{again}, with `exp`")
    elif not isinstance(claims.get("offices"), list):
        report.fail("the key is a JSON Web Token that names no offices", f"{again}, with `offices`: a list of globs")
    elif ends <= now:
        report.fail(f"the key is a JSON Web Token that expired on {_date(ends)}", again)
    elif begins > now:
        report.fail(
            f"the key is a JSON Web Token that is not valid before {_date(begins)}",
            "wait for it; or is the clock of this machine, or of who issued it, wrong?",
        )
    elif ends - now < SOON:
        report.warn(
            f"the key is a JSON Web Token that expires soon, on {_date(ends)}",
            f"{again} before that: its connections end then",
        )
    else:
        report.ok(f"the key is a JSON Web Token, valid until {_date(ends)}")


def _time(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _date(moment: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
    except (OverflowError, ValueError, OSError):
        return "a day beyond all calendars"


# -------------------------------------------------------------------------------------------------------- at the Server


class _Visitor(Computer):
    """A Computer without anything, that notices when somebody looks at it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.was_seen = asyncio.Event()

    async def aget_available_tools(self) -> list[SMCPTool]:
        self.was_seen.set()
        return []


async def check_admission(options: Options, report: Report, transports: list[str], *, is_clock_wrong: bool) -> None:
    """Connect with the key, and join the office if there is one to join."""
    visitor = _Visitor(options.name or _any_name())
    client = SMCPComputerClient(computer=visitor, ca_file=options.ca_file, reconnection=False)
    try:
        if await _enter(client, options, report, transports, is_clock_wrong) and options.office is not None:
            refusal = await _visit(client, visitor, options.office, report)
            if refusal is not None:
                await _look_closer(options, report, transports, visitor.name, options.office, refusal)
    finally:
        await client.disconnect()
        await visitor.shutdown()


async def _enter(
    client: SMCPComputerClient, options: Options, report: Report, transports: list[str], is_clock_wrong: bool
) -> bool:
    """Whether the Server lets us in."""
    url, key = options.url or "", options.api_key
    try:
        await options.reach(client, transports)
    except NotAuthenticatedError:
        if key is None:
            report.fail("the Server wants a key, and none is given", KEYS)
        else:
            clocks = "; the clocks differ, so a token may be out of date there" if is_clock_wrong else ""
            report.fail("the Server refuses the key", f"is it the right one, and for this Server? {KEYS}{clocks}")
        return False
    except ForbiddenError as error:
        report.fail(f"the Server does not want this connection: {printable(error.message, 300)}", KEYS)
        return False
    except NotConnectedError as error:
        if error.code == RateLimitedError.code:
            report.fail(
                "the Server has too many connections from this address already",
                "end some of them, or raise its --connections-per-ip; behind a proxy, see --forwarded-allow-ips",
            )
        else:
            report.fail(
                f"Socket.IO answers, but not {SMCP_NAMESPACE}: {printable(error.message, 300)}",
                "is that an A2C Server, and not another Socket.IO program?",
            )
        return False
    if key is not None:
        report.ok("the Server takes the key")
    elif Address.of(url).is_local:
        report.ok("the Server wants no key")
    else:
        report.warn("the Server lets anybody in who can reach it", "start it with --keys-file, --jwt-key-file or a key")
    return True


async def _visit(
    client: SMCPComputerClient, visitor: _Visitor, office: str, report: Report
) -> OfficeRefusedError | None:
    """Join, and leave soon after; a Computer that offers nothing. Why it could not, if it could not."""
    try:
        await client.join_office(office)
        try:
            async with asyncio.timeout(STAY):
                await visitor.was_seen.wait()
        except TimeoutError:
            pass
        await client.leave_office(office)
    except OfficeRefusedError as error:
        return error
    agent = "an Agent is there, and saw it come and go" if visitor.was_seen.is_set() else "no Agent showed itself"
    report.ok(f"the office {office} can be joined (as {visitor.name}, for a moment; {agent})")
    return None


async def _look_closer(
    options: Options, report: Report, transports: list[str], name: str, office: str, refusal: OfficeRefusedError
) -> None:
    """A Computer may not join: what may?"""
    told = f"the office {office} cannot be joined: {printable(str(refusal), 300)}"
    if refusal.code != ForbiddenError.code:
        report.fail(told, "the Server's log says more")
    elif options.name is not None and await _may_join(options, transports, office):
        report.warn(told, f"if {name} is not your own Computer that runs already, choose another --name")
    elif await _is_for_agents(options, transports, office):
        report.ok(f"the office {office} can be joined by an Agent; this key is not for Computers")
    else:
        report.fail(
            told,
            "a key may be for one name, which --name says, and for some offices: "
            f"`a2c keys add NAME --office {office}` at the Server makes one for this office",
        )


async def _is_for_agents(options: Options, transports: list[str], office: str) -> bool:
    """Whether an Agent with this key could be in the office; there may be one already."""
    from a2c_smcp.agent import AsyncSMCPAgentClient, DefaultAgentAuthProvider

    provider = DefaultAgentAuthProvider(options.name or _any_name(), office)
    agent = AsyncSMCPAgentClient(provider, ca_file=options.ca_file, reconnection=False)
    try:
        await options.reach(agent, transports)
        await agent.join_office()
    except SMCPError as error:
        return error.code == OfficeFullError.code
    finally:
        await agent.disconnect()
    return True


async def _may_join(options: Options, transports: list[str], office: str) -> bool:
    """Whether a Computer of another name may join."""
    visitor = _Visitor(_any_name())
    client = SMCPComputerClient(computer=visitor, ca_file=options.ca_file, reconnection=False)
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
