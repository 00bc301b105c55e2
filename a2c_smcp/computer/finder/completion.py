"""What could follow a half-typed address: documents that are listed, and pages and elements that servers name."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Iterable, Sequence

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from a2c_smcp.computer.mcp_clients.session import Session
from a2c_smcp.computer.resources import ResourceView
from a2c_smcp.errors import InvalidDPEUriError
from a2c_smcp.utils.dpe_uri import ParsedDPEUri, build_dpe_uri, parse_dpe_uri

logger = logging.getLogger(__name__)

SECONDS = 3.0
MAX_CHOICES = 100

_LAST_STEP = re.compile(r"(?P<document>dpe://[^/?#]+/[^/?#]+)/(?P<kind>pages|elements)/(?P<start>[^/?#]*)")
_VARIABLE = re.compile(r"\{(\w+)\}")


async def complete_uri(
    start: str,
    views: Sequence[ResourceView],
    server_of: Callable[[ParsedDPEUri], str],
    session_of: Callable[[str], Session | None],
) -> list[str]:
    """Addresses that begin with `start`, as far as anybody knows; never an error."""
    step = _LAST_STEP.fullmatch(start)
    if step is None:
        return _beginning_with(start, _known(views))
    try:
        address = parse_dpe_uri(step["document"])
        session = session_of(server_of(address))
    except InvalidDPEUriError:
        return []
    except Exception as error:  # nobody has it: nothing to offer
        logger.debug("no completion for %s: %s", start, error)
        return []
    if session is None:
        return []
    values = await _ask(session, address, step["kind"], step["start"])
    found: list[str] = []
    for value in values:
        with contextlib.suppress(ValueError):  # a value that no address can hold
            found.append(build_dpe_uri(address.host, address.doc_ref, f"{step['kind']}/{value}"))
    return _beginning_with(start, found)


def _known(views: Sequence[ResourceView]) -> Iterable[str]:
    for view in views:
        yield from view.windows
        yield from view.others
        for uri in view.documents:
            yield uri
            yield f"{uri}/pages/"
            yield f"{uri}/elements/"


def _beginning_with(start: str, uris: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(uri for uri in uris if uri.startswith(start)))[:MAX_CHOICES]


async def _ask(session: Session, address: ParsedDPEUri, kind: str, start: str) -> list[str]:
    """What the server offers for the last variable of its template."""
    try:
        async with asyncio.timeout(SECONDS):
            for template in await session.all_templates():
                before, _, last = template.uri_template.partition(f"/{kind}/")
                names = _VARIABLE.findall(before), _VARIABLE.findall(last)
                if not before.startswith("dpe://") or not names[1]:
                    continue
                reference = types.ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
                context = {names[0][-1]: address.doc_ref or ""} if names[0] else None
                answer = await session.complete(reference, {"name": names[1][0], "value": start}, context)
                return answer.completion.values
    except (MCPError, TimeoutError, ValidationError) as error:
        logger.debug("no completion of %s: %s", kind, error)
    return []
