"""The calls of the Server: those that run, and those that ended while somebody looked."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from a2c_smcp.console.hub.recording import KEEP_SECONDS, Recording
from a2c_smcp.console.hub.shapes import Call, Calls
from a2c_smcp.console.web.requests import Asked
from a2c_smcp.console.web.streams import Feed
from a2c_smcp.errors import NotFoundError
from a2c_smcp.protocol import server_effects
from a2c_smcp.server.administration import Administration
from a2c_smcp.server.watching import CallRecord, CallWatch
from a2c_smcp.utils.text import one_line

logger = logging.getLogger(__name__)

TOPIC = "calls"
SUMMARY_SECONDS = 1.0
SHOWN_AFTER = 0.1
"""Seconds after which a running call is an event. Most calls have ended by then, and are one event in place of two."""
RECENT = 200


class CallBook:
    """Records calls while somebody looks at them, and publishes an event for each."""

    def __init__(self, administration: Administration, keep_seconds: float = KEEP_SECONDS) -> None:
        self._administration = administration
        self._recording = Recording(self._begin, self._end, keep_seconds)
        self.feed: Feed | None = None
        self._watch: CallWatch | None = None
        self._since = 0.0
        self._summing: asyncio.TimerHandle | None = None
        self._told = 0
        self._begun: list[CallRecord] = []
        self._showing: asyncio.TimerHandle | None = None

    # ------------------------------------------------------------------------------------------------------- recording

    def start(self) -> None:
        """See `Source`."""
        self._recording.follow()
        self._summing = asyncio.get_running_loop().call_later(SUMMARY_SECONDS, self._summarise)

    def stop(self) -> None:
        """See `Source`."""
        for timer in (self._summing, self._showing):
            if timer is not None:
                timer.cancel()
        self._summing = self._showing = None
        self._begun.clear()
        self._recording.unfollow()

    def close(self) -> None:
        """Record no more."""
        self._recording.close()

    def _begin(self) -> None:
        self._watch = self._administration.watch_calls(self._changed)
        self._since, self._told = time.time(), 0

    def _end(self) -> None:
        self._administration.unwatch_calls()
        self._watch = None

    def _changed(self, record: CallRecord) -> None:
        if not self._recording.is_followed or self.feed is None:
            return
        if record.ended is not None:
            self.feed.publish(TOPIC, "call", _described(record))
            return
        self._begun.append(record)
        if self._showing is None:
            self._showing = asyncio.get_running_loop().call_later(SHOWN_AFTER, self._show_begun)

    def _show_begun(self) -> None:
        self._showing = None
        for record in self._begun:
            if record.ended is None and self.feed is not None:
                self.feed.publish(TOPIC, "call", _described(record))
        self._begun.clear()

    def _summarise(self) -> None:
        """Say how many calls were left out."""
        self._summing = asyncio.get_running_loop().call_later(SUMMARY_SECONDS, self._summarise)
        if self._watch is not None and self.feed is not None and self._watch.left_out != self._told:
            self._told = self._watch.left_out
            self.feed.publish(TOPIC, "left_out", {"left_out": self._told})

    # --------------------------------------------------------------------------------------------------------- reading

    async def show(self, asked: Asked) -> Calls:
        """The calls that run and that ended. From now on, they are recorded for a minute."""
        self._recording.look()
        watch = self._watch
        query: dict[str, Any] = asked.query
        known = {(record.caller, record.req_id): record for record in watch.running.values()} if watch else {}
        running: list[Call] = []
        for call in self._administration.calls():
            record = known.get((call.caller, str(call.data.get("req_id"))))
            running.append(_described(record) if record is not None else self._unrecorded(call))
        recent = [_described(record) for record in reversed(watch.ended)] if watch else []
        return {
            "running": [call for call in running if _matches(call, query)],
            "recent": [call for call in recent if _matches(call, query)][: int(query.get("limit", RECENT))],
            "recorded_since": self._since,
            "left_out": watch.left_out if watch else 0,
        }

    async def end(self, asked: Asked) -> None:
        """End the calls with an id."""
        req_id, office = asked.path["req_id"], asked.query.get("office")
        found = [
            call
            for call in self._administration.calls()
            if call.data.get("req_id") == req_id and office in (None, call.office_id)
        ]
        if not found:
            raise NotFoundError("this call does not run any more")
        for caller in {call.caller for call in found}:
            self._administration.end_call(caller, req_id)
        logger.warning("%s ended the call %s", asked.sender.name, one_line(req_id, 256))

    def _unrecorded(self, call: server_effects.Call) -> Call:
        member = self._administration.member(call.caller)
        data: dict[str, Any] = call.data
        return {
            "id": None,
            "req_id": str(data.get("req_id", "")),
            "event": call.event,
            "agent": member.name if member is not None else None,
            "office": call.office_id,
            "computer": data.get("computer"),
            "tool": data.get("tool_name"),
            "principal": data.get("principal"),
            "arrived": None,
            "sent": None,
            "answered": None,
            "ended": None,
            "request_bytes": len(call.original) if call.original is not None else None,
            "answer_bytes": None,
            "outcome": None,
            "message": None,
        }


def _described(record: CallRecord) -> Call:
    return {
        "id": record.number,
        "req_id": record.req_id,
        "event": record.event,
        "agent": record.agent,
        "office": record.office,
        "computer": record.computer,
        "tool": record.tool,
        "principal": record.principal,
        "arrived": record.arrived,
        "sent": record.sent,
        "answered": record.answered,
        "ended": record.ended,
        "request_bytes": record.request_bytes,
        "answer_bytes": record.answer_bytes,
        "outcome": record.outcome,
        "message": record.message,
    }


def _matches(call: Call, query: dict[str, Any]) -> bool:
    if any(query.get(field, call[field]) != call[field] for field in ("office", "computer", "tool", "req_id")):
        return False
    wanted = query.get("outcome")
    if wanted is None:
        return True
    outcome = call["outcome"]
    return outcome == wanted or (wanted == "failed" and outcome not in (None, "ok", "cancelled"))
