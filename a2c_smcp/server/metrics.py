"""The Server's metrics for Prometheus. Gauges are computed when they are scraped; a request costs one observation.

Clients cannot add label values without limit: unknown events, unknown codes and, beyond a number, offices are counted
as `other`. Otherwise a client could fill the memory of the Server and of Prometheus.
"""

from __future__ import annotations

import re
from collections import Counter as Counts
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from a2c_smcp.errors import SMCPError, is_known_code
from a2c_smcp.protocol.payloads import KNOWN_EVENTS
from a2c_smcp.server.edge import Edge
from a2c_smcp.smcp import CLIENT_PREFIX

if TYPE_CHECKING:
    from a2c_smcp.server.cluster.node import ClusterSize

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_OFFICES = 1_000
"""Offices that are counted separately."""
MOST_PRINCIPALS = 1_000
"""Users of MCP hosts that are counted separately."""
OTHER = "other"
_MCP_METHODS = frozenset(
    (
        "initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/templates/list",
        "resources/read", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "prompts/list",
        "prompts/get", "completion/complete", "logging/setLevel",
    )
)  # fmt: skip
"""The methods of MCP that are counted separately."""
# From a relayed call on the same machine to a tool that runs for half an hour.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)

_FAMILY = re.compile(r"^(?=# HELP )", re.MULTILINE)
_SAMPLE = re.compile(r"^([\w:]+)({?)", re.MULTILINE)
"""The start of a line with a value: a name, and labels if it has any."""


@runtime_checkable
class Countable(Protocol):
    """A registry that knows its numbers."""

    def count(self) -> tuple[int, int, int]:
        """The numbers of offices, Agents and Computers."""
        ...


class Cluster(Protocol):
    """A cluster, as its metrics need it."""

    @property
    def is_ready(self) -> bool:
        """Whether this node serves and is connected to Redis."""
        ...

    @property
    def size(self) -> ClusterSize:
        """The numbers of the whole cluster."""
        ...


@dataclass(frozen=True, slots=True)
class Totals:
    """The relayed calls that were answered so far."""

    calls: int = 0
    failed: int = 0
    seconds: float = 0.0
    """The sum of their durations."""
    within: tuple[tuple[float, int], ...] = ()
    """How many took at most so many seconds."""


def merge(pages: Mapping[str, bytes], unanswered: int) -> bytes:
    """One page from those of several nodes, in which each sample has the label of its node."""
    # As text: parsing the samples of large pages would take the event loop for seconds.
    families: dict[str, list[str]] = {}
    for node, page in pages.items():
        label = partial(_label, node)
        for family in _FAMILY.split(page.decode())[1:]:
            about, kind, samples = family.split("\n", 2)
            name = about.split(" ")[2]
            families.setdefault(name, [f"{about}\n{kind}\n"]).append(_SAMPLE.sub(label, samples))
    about = "# HELP a2c_cluster_unanswered Nodes of the cluster that are missing from this page."
    families[""] = [f"{about}\n# TYPE a2c_cluster_unanswered gauge\na2c_cluster_unanswered {unanswered}\n"]
    return "".join(part for parts in families.values() for part in parts).encode()


def _label(node: str, sample: re.Match[str]) -> str:
    return f'{sample[1]}{{node="{node}"{"," if sample[2] else "}"}'


class Metrics:
    """An `Observer` that counts, and the page that shows the counts. `by_office` adds counts for each office."""

    def __init__(self, *, by_office: bool = False) -> None:
        self.wants_office = by_office
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "a2c_requests", "Requests answered, by event and outcome (ok, cancelled, or the error code).",
            ["event", "outcome"], registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "a2c_request_seconds", "Time from a request to its answer.", ["event"],
            buckets=_BUCKETS, registry=self._registry,
        )  # fmt: skip
        self._refusals = Counter(
            "a2c_refusals", "Requests and connections rejected by the Server, by code.", ["code"],
            registry=self._registry,
        )  # fmt: skip
        self._notifications = Counter(
            "a2c_notifications", "Notifications sent to an office or a member, by event.", ["event"],
            registry=self._registry,
        )  # fmt: skip
        self._mounted = Counter(
            "a2c_mcp_requests", "Requests of MCP hosts, by user, method and outcome.",
            ["principal", "method", "outcome"], registry=self._registry,
        )  # fmt: skip
        self._principals: set[str] = set()
        self._children: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._offices = _Offices(self._registry) if by_office else None

    def watch_cluster(self, cluster: Cluster) -> None:
        """Show the numbers of a whole cluster on the page."""
        self._registry.register(_ClusterState(cluster))

    def watch(self, namespace: Edge) -> None:
        """Show the state of a namespace on the page."""
        self._registry.register(_State(namespace))

    def answered(self, event: str, outcome: str, seconds: float, office_id: str | None) -> None:
        """Count one answered request."""
        # `labels` validates and looks up its arguments under a lock, at every call. The table skips that for pairs that
        # occurred before.
        children = self._children.get((event, outcome)) or self._bind(event, outcome)
        children[0].inc()
        children[1].observe(seconds)
        if self._offices is not None:
            self._offices.answered(office_id or "", _event(event), _outcome(outcome), seconds)

    def mount_answered(self, principal: str, method: str, outcome: str) -> None:
        """Count one request of an MCP host."""
        if principal not in self._principals:
            if len(self._principals) >= MOST_PRINCIPALS:
                principal = OTHER
            self._principals.add(principal)
        self._mounted.labels(principal, method if method in _MCP_METHODS else OTHER, _mcp_outcome(outcome)).inc()

    def rejected(self, error: SMCPError) -> None:
        """Count one rejected request or connection."""
        self._refusals.labels(str(error.code)).inc()

    def notified(self, event: str) -> None:
        """Count one notification. Its name comes from the Server, so that it needs no check."""
        self._notifications.labels(event).inc()

    def show(self, name: str, about: str, count: Callable[[], int]) -> None:
        """Show a number on the page."""
        self._registry.register(_Number(name, about, count))

    def page(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self._registry)

    def totals(self) -> Totals:
        """The relayed calls since the start."""
        calls = failed = 0
        for sample in (sample for metric in self._requests.collect() for sample in metric.samples):
            if sample.name == "a2c_requests_total" and sample.labels["event"].startswith(CLIENT_PREFIX):
                calls += int(sample.value)
                failed += int(sample.value) if sample.labels["outcome"] not in ("ok", "cancelled") else 0
        seconds, within = 0.0, Counts[float]()
        for sample in (sample for metric in self._seconds.collect() for sample in metric.samples):
            if not sample.labels["event"].startswith(CLIENT_PREFIX):
                continue
            if sample.name == "a2c_request_seconds_sum":
                seconds += sample.value
            elif sample.name == "a2c_request_seconds_bucket":
                within[float(sample.labels["le"])] += int(sample.value)
        return Totals(calls, failed, seconds, tuple(sorted(within.items())))

    def _bind(self, event: str, outcome: str) -> tuple[Any, Any]:
        labels = _event(event), _outcome(outcome)
        children = self._requests.labels(*labels), self._seconds.labels(labels[0])
        # Names that clients invented are not kept: the table would grow without limit.
        if labels == (event, outcome):
            self._children[event, outcome] = children
        return children


class _Offices:
    """Counts for each office, with a summary instead of a histogram, whose buckets would multiply the time series."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "a2c_office_requests", "Requests answered, by office, event and outcome.", ["office", "event", "outcome"],
            registry=registry,
        )  # fmt: skip
        self._seconds = Summary(
            "a2c_office_request_seconds", "Time from a request to its answer, by office.", ["office"], registry=registry
        )
        self._known: set[str] = set()

    def answered(self, office_id: str, event: str, outcome: str, seconds: float) -> None:
        if office_id not in self._known:
            if len(self._known) >= MOST_OFFICES:
                office_id = OTHER
            self._known.add(office_id)
        self._requests.labels(office_id, event, outcome).inc()
        self._seconds.labels(office_id).observe(seconds)


class _Number(Collector):
    def __init__(self, name: str, about: str, count: Callable[[], int]) -> None:
        self._facts = name, about
        self._count = count

    def collect(self) -> list[GaugeMetricFamily]:
        return [GaugeMetricFamily(*self._facts, value=self._count())]


def _event(event: str) -> str:
    return event if event in KNOWN_EVENTS else OTHER


def _outcome(outcome: str) -> str:
    return outcome if not outcome.lstrip("-").isdecimal() or is_known_code(int(outcome)) else OTHER


def _mcp_outcome(outcome: str) -> str:
    """The outcome of a request of MCP, which may be one of the codes that JSON-RPC reserves."""
    return outcome if re.fullmatch(r"-32\d{3}", outcome) else _outcome(outcome)


class _State(Collector):
    """The gauges: what exists at the moment of a scrape."""

    def __init__(self, namespace: Edge) -> None:
        self._namespace = namespace

    def collect(self) -> list[GaugeMetricFamily]:
        namespace = self._namespace
        gauges = [
            GaugeMetricFamily("a2c_connections", "Open connections.", value=len(namespace.connections)),
            GaugeMetricFamily(
                "a2c_in_flight", "Relayed requests that wait for an answer.", value=len(namespace.in_flight)
            ),
        ]
        if isinstance(namespace.registry, Countable):
            gauges += _members("a2c", "of this Server", *namespace.registry.count())
        return gauges


class _ClusterState(Collector):
    """The gauges of a whole cluster. Every node shows the same, as of its last beat."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def collect(self) -> list[GaugeMetricFamily]:
        size = self._cluster.size
        return [
            GaugeMetricFamily(
                "a2c_cluster_connected", "Whether this node is connected to Redis.", value=int(self._cluster.is_ready)
            ),
            GaugeMetricFamily("a2c_cluster_nodes", "Nodes of the cluster.", value=size.nodes),
            *_members("a2c_cluster", "of the cluster", size.offices, size.agents, size.computers),
        ]


def _members(prefix: str, where: str, offices: int, agents: int, computers: int) -> list[GaugeMetricFamily]:
    members = GaugeMetricFamily(f"{prefix}_members", f"Members {where}, by role.", labels=["role"])
    members.add_metric(["agent"], agents)
    members.add_metric(["computer"], computers)
    offices_ = GaugeMetricFamily(f"{prefix}_offices", f"Offices with at least one member {where}.", value=offices)
    return [offices_, members]
