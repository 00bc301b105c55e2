"""The effects of a client's flows, and the interface of the backend that performs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol

from a2c_smcp.errors import SMCPError
from a2c_smcp.protocol.flow import AnswerT, Effect, Flow, MaybeAwaitable
from a2c_smcp.protocol.handshake import ServerInfo
from a2c_smcp.protocol.questions import Question
from a2c_smcp.protocol.terms import Terms
from a2c_smcp.types import Role

if TYPE_CHECKING:
    from a2c_smcp.utils.results import CallToolResult


@dataclass(frozen=True, slots=True)
class Seat:
    """A place in an office, with the name and the role of the client in it."""

    office_id: str
    name: str
    role: Role


class ClientBackend(Protocol):
    """Performs the effects of a client's flows, with its connection and its place in an office."""

    @property
    def seat(self) -> Seat | None:
        """The seat that the program wants to have."""
        ...

    @property
    def terms(self) -> Terms:
        """What the client said of itself when it connected."""
        ...

    @property
    def server(self) -> ServerInfo:
        """What the client knows of the Server."""
        ...

    def occupy(self, office_id: str | None, /) -> str | None:
        """Note which office the client is in; the office that it was in before."""
        ...

    def learn(self, info: ServerInfo, /) -> None:
        """Note what the Server says about itself."""
        ...

    def ask(self, event: str, data: Any, timeout: float, /) -> MaybeAwaitable[Any]:
        """Send a request and wait for its ack; several ack arguments come as a tuple.

        Raises:
            TimedOutError: no ack within `timeout` seconds.
            NotConnectedError: there is no connection, or it broke.
        """
        ...

    def tell(self, event: str, data: Any, /) -> MaybeAwaitable[None]:
        """Send an event that needs no ack."""
        ...

    def pause(self, seconds: float, /) -> MaybeAwaitable[None]:
        """Wait, but not longer than the connection lasts."""
        ...

    def rest(self, seconds: float, /) -> MaybeAwaitable[bool]:
        """Wait without a connection; False when the program wants no connection any more."""
        ...

    def redial(self) -> MaybeAwaitable[bool]:
        """Connect as before; whether the connection still lives."""
        ...

    def goes_on(self, refusal: SMCPError, /) -> bool:
        """Whether to retry although the Server rejects the connection."""
        ...

    def retake(self, seat: Seat, /) -> MaybeAwaitable[bool]:
        """Run `enter` while no other join or leave runs; False when the seat is not wanted any more."""
        ...

    def read_result(self, answer: dict[str, Any], /) -> MaybeAwaitable[CallToolResult]:
        """Read the result of a tool call.

        Raises:
            InvalidAnswerError: the answer is no tool result.
        """
        ...

    def together(self, flows: Sequence[Flow[ClientBackend, None]], /) -> MaybeAwaitable[None]:
        """Run flows at the same time, until all have ended. The first error of one is raised; a blocking backend then
        leaves the others running, and they have to end by themselves."""
        ...

    def work(self, function: Callable[[], Any], /) -> MaybeAwaitable[Any]:
        """Call a function that computes, or reads or writes files, where it delays nothing else."""
        ...


# Not frozen, and neither is `ReadResult`, although nobody changes them: every call makes both, and a frozen dataclass
# sets each of its fields through a function.
@dataclass(slots=True)
class Ask(Effect[ClientBackend, Any]):
    """Send a request and wait for its ack."""

    event: str
    data: Any
    timeout: float

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[Any]:
        return backend.ask(self.event, self.data, self.timeout)


@dataclass(frozen=True, slots=True)
class Tell(Effect[ClientBackend, None]):
    """Send an event that needs no ack."""

    event: str
    data: Any

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[None]:
        return backend.tell(self.event, self.data)


@dataclass(frozen=True, slots=True)
class Pause(Effect[ClientBackend, None]):
    """Wait, but not longer than the connection lasts."""

    seconds: float

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[None]:
        return backend.pause(self.seconds)


@dataclass(frozen=True, slots=True)
class Consult(Effect[ClientBackend, Any]):
    """Let the program answer a question of a tool, within some seconds."""

    answer: Callable[[Question, float], MaybeAwaitable[Any]]
    question: Question
    seconds: float

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[Any]:
        return self.answer(self.question, self.seconds)


@dataclass(frozen=True, slots=True)
class Rest(Effect[ClientBackend, bool]):
    """Wait without a connection; False when the program wants no connection any more."""

    seconds: float

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[bool]:
        return backend.rest(self.seconds)


class Redial(Effect[ClientBackend, bool]):
    """Connect as before; whether the connection still lives."""

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[bool]:
        return backend.redial()


@dataclass(frozen=True, slots=True)
class GoesOn(Effect[ClientBackend, bool]):
    """Whether to retry although the Server rejects the connection."""

    refusal: SMCPError

    def perform(self, backend: ClientBackend) -> bool:
        return backend.goes_on(self.refusal)


class ReadSeat(Effect[ClientBackend, Seat | None]):
    """The seat that the program wants to have."""

    def perform(self, backend: ClientBackend) -> Seat | None:
        return backend.seat


class ReadTerms(Effect[ClientBackend, Terms]):
    """What the client said of itself when it connected."""

    def perform(self, backend: ClientBackend) -> Terms:
        return backend.terms


class ReadServer(Effect[ClientBackend, ServerInfo]):
    """What the client knows of the Server."""

    def perform(self, backend: ClientBackend) -> ServerInfo:
        return backend.server


@dataclass(frozen=True, slots=True)
class Occupy(Effect[ClientBackend, str | None]):
    """Note which office the client is in; the office that it was in before."""

    office_id: str | None

    def perform(self, backend: ClientBackend) -> str | None:
        return backend.occupy(self.office_id)


@dataclass(frozen=True, slots=True)
class Learn(Effect[ClientBackend, None]):
    """Note what the Server says about itself."""

    info: ServerInfo

    def perform(self, backend: ClientBackend) -> None:
        backend.learn(self.info)


@dataclass(frozen=True, slots=True)
class Retake(Effect[ClientBackend, bool]):
    """Take a seat again; False when it is not wanted any more."""

    seat: Seat

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[bool]:
        return backend.retake(self.seat)


@dataclass(slots=True)
class ReadResult(Effect[ClientBackend, "CallToolResult"]):
    """Read the result of a tool call.

    An effect, because the types of MCP that a result is made of take long to import: a client on an event loop does
    that in a thread.
    """

    answer: dict[str, Any]

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[CallToolResult]:
        return backend.read_result(self.answer)


@dataclass(frozen=True, slots=True)
class Together(Effect[ClientBackend, None]):
    """Run flows at the same time, until all have ended. They end by themselves soon after one of them failed."""

    flows: Sequence[Flow[ClientBackend, None]]

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[None]:
        return backend.together(self.flows)


@dataclass(frozen=True, slots=True)
class Work(Effect[ClientBackend, AnswerT], Generic[AnswerT]):
    """Call a function that computes, or reads or writes files, where it delays nothing else."""

    function: Callable[[], AnswerT]

    def perform(self, backend: ClientBackend) -> MaybeAwaitable[AnswerT]:
        return backend.work(self.function)
