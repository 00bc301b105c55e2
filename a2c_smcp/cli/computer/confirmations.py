"""The owner's answers to calls that need approval, at a terminal: one of the channels of `Approvals`."""

from __future__ import annotations

import json
import re

from a2c_smcp.cli.console import Terminal, prompt_session
from a2c_smcp.cli.errors import Interrupted
from a2c_smcp.computer.offer.approval_request import ApprovalRequest, Decision, Outcome, Verdict
from a2c_smcp.computer.offer.calls import LONGEST_PRINCIPAL
from a2c_smcp.computer.offer.confirmation import CallToConfirm
from a2c_smcp.computer.offer.rules import Saved
from a2c_smcp.utils.text import one_line, printable

MAX_SHOWN = 4_000
"""Characters of a call's arguments that the question shows."""
PROMPT = "the prompt"

_ANSWERS = {
    Decision.ALLOW: "yes",
    Decision.DENY: "no",
    Decision.SESSION: "always",
    Decision.ALWAYS: "always, and save",
    Decision.HOUR: "for an hour",
}
_WORDS = {
    **{word: Decision.ALLOW for word in ("y", "yes")},
    **{word: Decision.DENY for word in ("n", "no")},
    **{word: Decision.SESSION for word in ("a", "always")},
    **{word: Decision.ALWAYS for word in ("s", "save", "always save", "always and save")},
    **{word: Decision.HOUR for word in ("h", "hour", "an hour", "for an hour")},
}
"""What may be typed, without commas."""


class Confirmations:
    """Asks the owner at a terminal whether a call may run."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def decide(self, request: ApprovalRequest) -> Verdict | None:
        """The owner's answer. If this is cancelled, because the call ends or another channel decides, the question
        disappears, and a line says why."""
        try:
            answer = await self._terminal.interrupt(lambda: self._ask(request), lambda: why_withdrawn(request))
        except Interrupted:
            return Verdict(Decision.DENY, PROMPT)
        return Verdict(answer, PROMPT)

    async def _ask(self, request: ApprovalRequest) -> Decision:
        file = file_of(request)
        answers = [decision for decision in _ANSWERS if decision is not Decision.ALWAYS or file is not None]
        choices = " / ".join(_ANSWERS[decision] for decision in answers)
        # Keys typed before the question was shown must not answer it. An Agent could otherwise time its calls to a
        # person who is typing.
        self._terminal.drop_typed_ahead()
        # The names and arguments come from the Agent and the MCP server: `one_line` and `printable` keep them from
        # imitating the question or moving the cursor over it.
        print(one_line(f"{name_of(request.call)} wants to call {request.tool} of {request.entry.server} with:"))
        print(printable(json.dumps(request.parameters, indent=2, ensure_ascii=False), MAX_SHOWN))
        session = prompt_session()
        while True:
            typed = await session.prompt_async(
                lambda: f"Allow it? {choices}{_time_left(request.call)}: ", refresh_interval=1
            )
            answer = _WORDS.get(" ".join(re.split(r"[\s,]+", typed.strip().lower())))
            if answer is not None and answer in answers:
                return answer
            and_save = f"; always, and save: also in {file}" if file is not None else ""
            what = f"{request.tool} of {request.entry.server}"
            print(one_line(f"always: {what}, until this Computer stops{and_save}; for an hour: {what}"))


def tell_written(written: tuple[ApprovalRequest, Saved]) -> None:
    """Print what became of a rule that some channel let the Computer write."""
    request, saved = written
    what = one_line(f"{request.tool} of {request.entry.server}")
    if saved.path is not None:
        print(f"{what} runs without confirmation; saved to {saved.path}")
    else:
        print(f"{what} runs without confirmation until this Computer stops")
        print(f"not saved: {saved.problem}")


def file_of(request: ApprovalRequest) -> str | None:
    """The file in which a rule for the tool would be saved."""
    origin = request.config.origin if request.config is not None else None
    return str(origin.source.path) if origin is not None else None


def name_of(call: CallToConfirm) -> str:
    """The caller, in words."""
    caller = call.caller
    if not caller.agent:
        return "This program"
    user = f" for {one_line(caller.principal, LONGEST_PRINCIPAL)}" if caller.principal is not None else ""
    return f"Agent {caller.agent}{user} in office {caller.office_id}"


def _time_left(call: CallToConfirm) -> str:
    seconds = call.remaining()
    if seconds is None:
        return ""
    return f" ({seconds:.0f} s left)" if seconds < 120 else f" ({seconds / 60:.0f} min left)"


def why_withdrawn(request: ApprovalRequest) -> str:
    """Why a request needs no answer any more."""
    match request.outcome:
        case Outcome.ALLOWED if request.verdict is not None:
            return one_line(f"{request.verdict.by} allowed the call")
        case Outcome.DENIED if request.verdict is not None:
            return one_line(f"{request.verdict.by} denied the call")
        case Outcome.EXPIRED:
            return "the call timed out and did not run"
        case _ if request.verdict is not None and request.verdict.error is not None:
            return one_line(f"{request.verdict.error.message}; the call did not run")
        case _:
            return "the call was cancelled and did not run"
