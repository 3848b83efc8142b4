"""One client: what the producers and consumers of a process share that ask the same name servers.

It starts its threads with its first operation. A process that was forked off has a new id, new connections and new
threads, and the same producers and consumers, of which brokers hear when one of them is used.
"""

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeVar

from escrowmq._core import Answer, OutgoingRequest, Request, Response
from escrowmq.client import drivers, steps
from escrowmq.client.asking import outgoing
from escrowmq.client.broker_requests import BrokerRequests, Handler
from escrowmq.client.engine import Engine
from escrowmq.client.identity import is_numeric, make_client_id, name_server_list
from escrowmq.client.lifetimes import watch
from escrowmq.client.name_servers import NameServers
from escrowmq.client.operation import Cancel, Operation, Outcome
from escrowmq.client.options import DEFAULTS, ClientOptions
from escrowmq.client.registrations import Registration, Registrations
from escrowmq.client.routes import Routes, TopicRoute, topic_route
from escrowmq.errors import EscrowError, NotThere, ServerClosed
from escrowmq.protocol.addresses import look_up
from escrowmq.protocol.bodies.heartbeat import ConsumerData
from escrowmq.protocol.question import Question

T = TypeVar("T")


class Client:
    """Use `sharing.acquire` for one that is shared; this makes one of its own."""

    def __init__(self, name_servers: str | Sequence[str], *, options: ClientOptions = DEFAULTS) -> None:
        """Starts nothing yet.

        Raises:
            ConfigError: An address is none.
        """
        self.name_servers: Final = name_server_list(name_servers)
        self.options: Final = options
        self.routes: Final = Routes()
        self._requests: Final = BrokerRequests()
        self._registrations: Final = Registrations(
            self, interval_s=options.heartbeat_interval_s, timeout_s=options.ask_timeout_s
        )
        self._name_servers: Final = NameServers(
            self.name_servers,
            lambda address, question, timeout_s: self.ask(address, question, timeout_s=timeout_s),
            timeout_s=options.ask_timeout_s,
        )
        self._numeric: dict[str, str] = {}
        self._client_id: str | None = None
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._is_closed = False
        watch(self)

    @property
    def client_id(self) -> str:
        """Who this is to brokers."""
        if self._client_id is None:
            self._client_id = make_client_id(self.name_servers[0], unit=self.options.unit)
        return self._client_id

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    def run(self, operation: Operation[T], *, timeout_s: float | None = None) -> T:
        """Carries an operation out and waits for what comes of it. Not on the dispatch thread.

        Raises:
            NoAnswer: It takes longer than `timeout_s`.
            ServerClosed: The client was closed.
        """
        return drivers.run_blocking(self._running(), operation, timeout_s=timeout_s)

    async def run_async(self, operation: Operation[T], *, timeout_s: float | None = None) -> T:
        """The same under asyncio, in any event loop."""
        return await drivers.run_awaiting(self._running(), operation, timeout_s=timeout_s)

    def begin(self, operation: Operation[T], done: Callable[[Outcome[T]], None]) -> None:
        """Carries an operation out in the background. The dispatch thread runs it and `done`: they must not block.

        Raises:
            ServerClosed: The client was closed.
        """
        drivers.begin(self._running(), operation, done)

    def later(self, delay_s: float, task: Callable[[], None]) -> Cancel:
        """Has a task run by the dispatch thread after a while; what is returned takes it back."""
        return self._running().deadlines.later(delay_s, task)

    def ask(self, address: str, question: Question | OutgoingRequest, *, timeout_s: float) -> Operation[Response]:
        """Asks a server. An answer that is no success is an answer.

        Raises:
            NotReachable: There is nobody, or the connection ends before the answer.
            NoAnswer: It does not come in time.
        """
        numeric = self._numeric.get(address) or (yield from self._look_up(address))
        return (yield from steps.ask(numeric, outgoing(question), timeout_s))

    def tell(self, address: str, question: Question | OutgoingRequest) -> Operation[None]:
        """Sends a server what it does not answer.

        Raises:
            NotReachable: There is no such name. Whether anybody got it, nobody knows.
        """
        numeric = self._numeric.get(address) or (yield from self._look_up(address))
        self._running().peers.tell(numeric, outgoing(question))

    def route(self, topic: str, *, fresh: bool = False) -> Operation[TopicRoute]:
        """Where a topic is: as a name server said lately, or says now.

        Raises:
            NotThere: The name server knows no such topic.
            EscrowError: No name server says anything sensible; see `NameServers.route`.
        """
        if not fresh:
            known = self.routes.find(topic)
            if known is not None:
                return known
        try:
            data = yield from self._name_servers.route(topic)
        except NotThere:
            self.routes.remove(topic)
            raise
        route = topic_route(topic, data)
        if self.routes.put(route):
            self._registrations.found(route)
        return route

    def broker_address(self, broker_name: str, *, only_master: bool = True) -> str | None:
        """Where a broker is, as far as routes that were asked for say."""
        return self.routes.broker_address(broker_name, only_master=only_master)

    def offload(self, function: Callable[[], T]) -> Operation[T]:
        """Runs a function that may block on one of the workers."""
        return steps.offload(function)

    def register_producer(self, group: str, topics: Callable[[], Collection[str]]) -> Registration:
        """Has the brokers of these topics know that a producer of the group is there, until it is closed."""
        return self._registrations.add_producer(group, topics, self._run_quietly)

    def register_consumer(self, group: str, data: Callable[[], ConsumerData]) -> Registration:
        """Has the brokers of its topics know that a consumer of the group is there, until it is closed."""
        return self._registrations.add_consumer(group, data, self._run_quietly)

    def beat(self) -> None:
        """Has brokers hear of producers and consumers now: what they say of themselves has changed."""
        self._registrations.beat_soon()

    def on_request(self, code: int, handler: Handler, *, group: str | None = None) -> Callable[[], None]:
        """Has requests of brokers answered, for one group, or for all without a handler; ends when called."""
        return self._requests.handle(code, handler, group=group)

    def answer(self, request: Request, answer: Answer) -> None:
        """Answers a request of a broker whose handler returned None."""
        self._running().server.answer([(request, answer)])

    def address_of(self, request: Request) -> str:
        """The address of the broker that a request came from, as it is asked."""
        return self._running().peers.address_of(request.connection) or request.peer

    def close(self) -> None:
        """Ends its threads and connections. What is open fails with `ServerClosed`. Again, it does nothing."""
        with self._lock:
            self._is_closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def forget_parent(self) -> None:
        """In a process that was forked off: nothing of the parent's threads and connections is used or closed."""
        self._lock = threading.Lock()
        self._client_id = None
        self._engine = None
        for part in (self.routes, self._requests, self._registrations):
            part.forget_parent()

    def _running(self) -> Engine:
        engine = self._engine
        if engine is not None:
            return engine
        with self._lock:
            if self._is_closed:
                raise ServerClosed("the client was closed")
            if self._engine is not None:
                return self._engine
            engine = self._engine = Engine(
                connect_timeout_s=self.options.connect_timeout_s,
                workers_max=self.options.workers_max,
                requested=self._requests.answer,
                closed=self._connection_ended,
            )
        engine.deadlines.later(self.options.route_refresh_interval_s, self._refresh_regularly)
        if not self._registrations.is_empty:
            self._registrations.beat_soon()
        return engine

    def _connection_ended(self, numeric: str) -> None:
        """Brokers are told by the addresses that routes have."""
        for address in [known for known, found in self._numeric.items() if found == numeric]:
            self._registrations.connection_ended(address)

    def _look_up(self, address: str) -> Operation[str]:
        numeric = address if is_numeric(address) else (yield from steps.offload(lambda: look_up(address)))
        self._numeric[address] = numeric
        return numeric

    def _refresh_regularly(self) -> None:
        if self._is_closed:
            return
        self._numeric.clear()
        for topic in self.routes.topics():
            self.begin(self._refresh(topic), lambda _: None)
        self.later(self.options.route_refresh_interval_s, self._refresh_regularly)

    def _refresh(self, topic: str) -> Operation[None]:
        try:
            yield from self.route(topic, fresh=True)
        except EscrowError:
            # What was known is better than nothing; who sends there sees whether it is still so.
            return

    def _run_quietly(self, operation: Operation[None]) -> None:
        """For a registration that is closed: that the client was closed before is no error."""
        if not self._is_closed:
            self.run(operation)
