"""Random and mutated input for the wire core. `python -m tests.wire.fuzzing 1000000` runs it at any length."""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from collections.abc import Iterator

from a2c_smcp.wire.connection import Connection
from a2c_smcp.wire.limits import WireLimits
from a2c_smcp.wire.namespace import Answer, BadAnswer, BadEvent, Enter, Event, Leave
from a2c_smcp.wire.session import Fault

LIMITS = WireLimits(
    message_bytes=2_000, transport_bytes=4_000, outside_bytes=1_000, packets=50, pending=20, unread=10_000
)
VALUES = (Enter, Event, Answer, BadEvent, BadAnswer, Leave, Fault)
SEEDS = [
    "1",
    "3",
    "40/smcp,",
    '40/smcp,{"token":"x"}',
    "41/smcp,",
    '42/smcp,7["server:join_office",{"role":"agent","name":"a","office_id":"o"}]',
    '42/smcp,["client:tool_call",{"params":{"text":"[[]]"}}]',
    '43/smcp,1[{"content":[],"isError":false}]',
    '451-/smcp,7["x",{"_placeholder":true,"num":0}]',
    '461-/smcp,1[{"_placeholder":true,"num":0}]',
    "44/smcp,{}",
    "2probe",
    "5",
    "6",
    "0{}",
]
ALPHABET = '0123456789/smcp,[]{}"\\:x-\x1e \x00é😀\ud800'


def mutated(chance: random.Random) -> str:
    """Something like what a client sends, or nothing like it."""
    text = chance.choice(SEEDS) if chance.random() < 0.8 else ""
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text = text[:at] + chance.choice(ALPHABET) * chance.choice((1, 1, 1, 3, 300)) + text[at:]
            case 1:
                text = text[:at] + text[at + chance.randrange(5) :]
            case 2:
                text = text[at:] + text[:at]
            case _:
                text += chance.choice(SEEDS)
    return text


def conversation(chance: random.Random, length: int) -> Iterator[object]:
    """What a client's core makes of so many frames or bodies, which are sent whatever it answers."""
    carrier = chance.choice(("polling", "websocket"))
    wire = Connection("eio", "/smcp", LIMITS, 0.0, carrier)
    for step in range(length):
        now = step * 0.01
        text = mutated(chance)
        if carrier == "websocket":
            frame: str | bytes = text if chance.random() < 0.95 else text.encode("utf-8", "replace")
            values = [wire.receive_frame(frame, now)]
        else:
            body = "\x1e".join([text, *(mutated(chance) for _ in range(chance.randrange(3)))])
            values = list(wire.receive_body(body.encode("utf-8", chance.choice(("replace", "surrogatepass"))), now))
        for value in values:
            if isinstance(value, Enter):
                if chance.random() < 0.8:
                    wire.admit(f"sid{step}")
                    wire.ask('["client:get_tools",{}]', object())
                else:
                    wire.reject("no", {"code": 401})
            elif isinstance(value, Event) and value.id is not None:
                wire.ack(value.id, "[]")
            yield value
        while wire.session.take_frame() is not None:
            pass
        wire.wake(now)
        if wire.session.end is not None:
            return


def run(count: int, seed: int = 0) -> int:
    """Send so many frames or bodies, over as many connections as it takes; how many values came of them."""
    chance = random.Random(seed)
    sent = found = 0
    while sent < count:
        for value in conversation(chance, 200):
            if value is not None and not isinstance(value, VALUES):
                raise AssertionError(f"not a documented value: {value!r}")
            sent += 1
            found += value is not None
        sent += 1
    return found


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    tracemalloc.start()
    started, done, seed = time.monotonic(), 0, 0
    while done < total or total == 0:
        run(100_000, seed)
        done, seed = done + 100_000, seed + 1
        peak = tracemalloc.get_traced_memory()[1]
        sys.stdout.write(f"{done:,} frames, {time.monotonic() - started:.0f} s, {peak:,} bytes at most\n")
