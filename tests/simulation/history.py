"""Random histories of a cluster, the rules that hold in each, and the shortest form of one that breaks a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from a2c_smcp.server.cluster.node import Node
from a2c_smcp.server.cluster.redis import script
from tests.simulation.cluster import LEASE, SimClient, SimCluster, SimNode

OFFICES = ("red", "blue")
CLIENTS = 16
REST = 3 * LEASE + 10
"""Seconds without new events after which nothing may be left to happen."""


class Step(NamedTuple):
    """Something that happens at a time. `number` chooses among what there is when it happens."""

    time: float
    action: str
    number: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        """One line of a history."""
        return f"{self.time:8.3f}  {self.action:<14} {self.number:>4}  {self.seconds:g}"


WEIGHTS = {
    "arrive": 30, "move": 8, "leave": 6, "disconnect": 6, "call": 40, "cancel": 4, "update": 8,
    "kill": 2, "start": 3, "pause": 3, "cut": 3, "restart": 1, "wipe": 2, "skew": 1,
}  # fmt: skip
CALM = ("arrive", "move", "leave", "disconnect", "call", "cancel", "update")


def random_history(seed: int, steps: int = 60) -> list[Step]:
    """A history of a cluster, from a seed."""
    random = Random(seed)
    time, history = 1.0, list[Step]()
    is_calm = random.random() < 0.3  # nothing breaks, and a lot happens at the same time
    weights = {name: weight for name, weight in WEIGHTS.items() if not is_calm or name in CALM}
    pauses = (0.0, 0.001, 0.005) if is_calm else (0.0, 0.001, 0.01, 0.1, 1.0, 3.0)
    for number in random.sample(range(CLIENTS), CLIENTS * 2 // 3):
        history.append(Step(time + random.random(), "arrive", number))
    for _ in range(steps):
        time += random.choice(pauses)
        action = random.choices(list(weights), list(weights.values()))[0]
        seconds = random.choice((0.3, 1.0, 3.0, 6.0, 7.0, 9.0, 12.0, 20.0))
        history.append(Step(time, action, random.randrange(1000), seconds))
    return sorted(history)


def run(
    seed: int,
    history: Sequence[Step],
    make_node: Callable[[SimNode], Node] | None = None,
    scripts: Callable[[str], str] = script,
) -> list[str]:
    """Let a history happen; the rules that it broke."""
    cluster = SimCluster(seed, make_node, scripts)
    for _ in range(3):
        cluster.add_node()
    for step in history:
        cluster.scheduler.at(step.time, lambda step=step: _act(cluster, step))
    end = history[-1].time if history else 0.0
    while cluster.scheduler.step(end) and not cluster.failures:
        _check_now(cluster)
    while cluster.scheduler.step(end + REST) and not cluster.failures:
        _check_now(cluster)
    if not cluster.failures:
        _check_at_rest(cluster)
    return cluster.failures


def shortest(
    seed: int, make_node: Callable[[SimNode], Node] | None = None, scripts: Callable[[str], str] = script
) -> list[Step]:
    """The history of a seed that breaks a rule, without every step that it does not need for that."""
    steps = random_history(seed)
    size = max(1, len(steps) // 2)
    while True:
        before, position = len(steps), 0
        while position < len(steps):
            fewer = steps[:position] + steps[position + size :]
            if run(seed, fewer, make_node, scripts):
                steps = fewer
            else:
                position += size
        if size == 1 and len(steps) == before:
            return steps
        size = max(1, size // 2)


def report(
    seed: int, make_node: Callable[[SimNode], Node] | None = None, scripts: Callable[[str], str] = script
) -> str:
    """The shortest history of a seed that breaks a rule, a line for each step, and the rule."""
    history = shortest(seed, make_node, scripts)
    return "\n".join([f"seed {seed}:", *map(str, history), *run(seed, history, make_node, scripts)])


# -------------------------------------------------------------------------------------------------------------- actions


def _act(cluster: SimCluster, step: Step) -> None:
    node: SimNode | None = _pick(cluster.nodes, step.number)
    client = _client(cluster, step.number)
    match step.action:
        case "arrive":
            client.arrive(client.name.partition("/")[0])
        case "move":
            client.arrive(_pick(OFFICES, step.number // 7))
        case "leave":
            client.leave()
        case "disconnect":
            client.disconnect()
        case "call":
            agents = [other for other in cluster.clients.values() if other.role == "agent" and other.office is not None]
            if agents:
                agent: SimClient = _pick(agents, step.number)
                agent.call(f"{agent.office}/pc{step.number % 3}", 1 + int(step.seconds))
        case "cancel":
            for other in cluster.clients.values():
                if other.role == "agent":
                    other.cancel()
        case "update":
            client.update()
        case "kill" if node is not None and len(cluster.nodes) > 1:
            cluster.kill(node)
        case "start" if len(cluster.nodes) < 4:
            cluster.add_node()
        case "pause" if node is not None:
            # Never earlier than before: what waits for the end of an earlier pause would be overtaken.
            node.paused_until = max(node.paused_until, cluster.scheduler.now + step.seconds)
            node.was_paused = True
            cluster.longest_pause += step.seconds
        case "cut" if node is not None:
            cluster.cut(node, step.seconds)
        case "restart" if not cluster.is_redis_down:
            cluster.restart_redis(step.seconds, loses_data=False)
        case "wipe" if not cluster.is_redis_down:
            cluster.restart_redis(step.seconds, loses_data=True)
        case "skew":
            cluster.skew += step.seconds - 6.0
        case _:
            return


def _pick(choices: Sequence[Any], number: int) -> Any:
    return choices[number % len(choices)] if choices else None


def _client(cluster: SimCluster, number: int) -> SimClient:
    # Two clients have each name, and an office takes only one of them. Two Agents want each office, under two names.
    number %= CLIENTS
    office, kind = OFFICES[number % 2], number // 2 % 4
    name, role = (f"{office}/agent{number // 8}", "agent") if kind == 3 else (f"{office}/pc{kind}", "computer")
    return cluster.clients.setdefault(number, SimClient(cluster, name, role))


# --------------------------------------------------------------------------------------------------------------- checks


def _check_now(cluster: SimCluster) -> None:
    """The rules that hold at every moment."""
    now = cluster.scheduler.now
    acting = [node for node in cluster.nodes if node.paused_until <= now and node.node.is_serving]
    agents, names = set[str](), set[tuple[str, str]]()
    for client in cluster.clients.values():
        # A client that waits for the answer to a leave is not counted, nor one whose node does not act.
        office, node = client.office, client.node
        if office is None or node not in acting or client.sid not in node.members:
            continue
        if (office, client.name) in names:
            cluster.fail(f"two members {client.name} in {office}")
        names.add((office, client.name))
        if client.role == "agent":
            if office in agents:
                cluster.fail(f"two Agents in {office}")
            agents.add(office)


def _check_at_rest(cluster: SimCluster) -> None:
    """The rules that hold when nothing more happens."""
    for client in cluster.clients.values():
        for asked in client.requests:
            if not asked.answers and not asked.is_void:
                cluster.fail(f"{asked.event} {asked.data} of {client.name} was never answered")
    settled = {
        (client.office, client.name, client.sid)
        for client in cluster.clients.values()
        if client.office is not None and client.node is not None
    }
    known = {
        (member.office_id, member.name, member.sid)
        for node in cluster.nodes
        for member in node.node.registry.own_members()
    }
    seats = {
        (office, name, seat.split(" ")[1])
        for office in OFFICES
        for name, seat in cluster.redis.tables.get(f"{{a2c}}:office:{office}", {}).items()
    }
    if settled != known:
        cluster.fail(f"clients know {settled}, nodes know {known}")
    if known != seats:
        cluster.fail(f"nodes know {known}, Redis knows {seats}")
    for node in cluster.nodes:
        for office in node.node.registry.offices():
            picture = {(office, member.name, member.sid) for member in node.node.registry.roster(office)}
            if picture != {seat for seat in seats if seat[0] == office}:
                cluster.fail(f"a node has a wrong picture of {office}: {picture}, Redis knows {seats}")
    for client in cluster.clients.values():
        if client.view is not None and client.office is not None:
            real = {name for office, name, _ in seats if office == client.office}
            if client.view != real:
                cluster.fail(f"{client.name} believes that {client.office} has {client.view}, it has {real}")
    for client in cluster.clients.values():
        for (office, name), has_entered in client.heard.items():
            if office == client.office and has_entered != any(seat[:2] == (office, name) for seat in seats):
                heard = "entered" if has_entered else "left"
                cluster.fail(f"the last that {client.name} heard is that {name} {heard} {office}; Redis knows {seats}")
    leftovers = {
        key for key in cluster.redis.tables
        if key.partition(":")[2].partition(":")[0] in ("office", "spread", "seats", "computer", "agents")
    }  # fmt: skip
    if not seats and leftovers:
        cluster.fail(f"Redis keeps {leftovers}")
    members = {name: int(cluster.redis.tables.get(f"{{a2c}}:{name}", "0")) for name in ("computers", "offices")}
    expected = {
        "computers": sum("/pc" in name for _, name, _ in seats),
        "offices": len({office for office, _, _ in seats}),
    }
    if members != expected:
        cluster.fail(f"Redis counts {members}, there are {expected}")
