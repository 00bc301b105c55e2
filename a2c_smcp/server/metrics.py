"""The Server's numbers for Prometheus. Gauges are read when they are scraped; a request costs one observation."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.wire import KNOWN_EVENTS
from a2c_smcp.server.base import NamespaceCore
from a2c_smcp.server.registry import MemoryRegistry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class Metrics:
    """An `Observer` that counts, and the page that shows it."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "a2c_requests", "Requests answered, by event and outcome (ok, or the error code).", ["event", "outcome"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "a2c_request_seconds", "Time from a request to its answer.", ["event"],
            buckets=_BUCKETS, registry=self._registry,
        )  # fmt: skip
        self._refusals = Counter(
            "a2c_refusals", "Requests and connections refused by the Server, by code.", ["code"],
            registry=self._registry,
        )  # fmt: skip
        self._children: dict[tuple[str, str], tuple[Any, Any]] = {}

    def watch(self, namespace: NamespaceCore) -> None:
        """Show the state of a namespace."""
        self._registry.register(_State(namespace))

    def answered(self, event: str, error: SMCPError | None, seconds: float) -> None:
        """Count one answered request."""
        outcome = "ok" if error is None else str(error.code)
        children = self._children.get((event, outcome)) or self._bind(event, outcome)
        children[0].inc()
        children[1].observe(seconds)
        if error is not None:
            self._refusals.labels(outcome).inc()

    def refused_connection(self, error: SMCPError) -> None:
        """Count one refused connection."""
        self._refusals.labels(str(error.code)).inc()

    def page(self) -> bytes:
        """The text a scraper reads."""
        return generate_latest(self._registry)

    def _bind(self, event: str, outcome: str) -> tuple[Any, Any]:
        label = event if event in KNOWN_EVENTS else "other"  # a client invents names; a label must not grow with them
        children = self._requests.labels(label, outcome), self._seconds.labels(label)
        if label == event:
            self._children[event, outcome] = children
        return children


class _State(Collector):
    """What there is right now."""

    def __init__(self, namespace: NamespaceCore) -> None:
        self._namespace = namespace

    def collect(self) -> list[GaugeMetricFamily]:
        namespace = self._namespace
        gauges = [
            GaugeMetricFamily("a2c_connections", "Open connections.", value=len(namespace.connections)),
            GaugeMetricFamily(
                "a2c_in_flight", "Relayed requests that wait for an answer.", value=len(namespace.in_flight)
            ),
        ]
        if isinstance(namespace.registry, MemoryRegistry):
            offices, agents, computers = namespace.registry.count()
            members = GaugeMetricFamily("a2c_members", "Members of all offices, by role.", labels=["role"])
            members.add_metric(["agent"], agents)
            members.add_metric(["computer"], computers)
            gauges += [GaugeMetricFamily("a2c_offices", "Offices with at least one member.", value=offices), members]
        return gauges
