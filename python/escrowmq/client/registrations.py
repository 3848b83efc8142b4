"""Which producers and consumers a client has. Brokers hear of them at once, regularly, and after reconnections."""

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Final, Protocol

import msgspec

from escrowmq._core import Response
from escrowmq.client.operation import Operation, Outcome
from escrowmq.client.routes import Routes, TopicRoute
from escrowmq.errors import EscrowError
from escrowmq.protocol.bodies.heartbeat import ConsumerData, Heartbeat, ProducerData
from escrowmq.protocol.headers.unregister_client import UnregisterClient
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode

_LOG: Final = logging.getLogger("escrowmq.client")
_AGAIN_AFTER_S: Final = 1.0


class Host(Protocol):
    """What a client does for its registrations."""

    @property
    def client_id(self) -> str:
        """Its id."""

    @property
    def routes(self) -> Routes:
        """What it knows of brokers."""

    def route(self, topic: str, *, fresh: bool = False) -> Operation[TopicRoute]:
        """Where a topic is."""

    def ask(self, address: str, question: Question, *, timeout_s: float) -> Operation[Response]:
        """Asks a server."""

    def begin(self, operation: Operation[None], done: Callable[[Outcome[None]], None]) -> None:
        """Carries an operation out in the background."""

    def later(self, delay_s: float, task: Callable[[], None]) -> Callable[[], object]:
        """Has something done after a while."""


class Registration:
    """A producer or a consumer that brokers know of."""

    def __init__(self, owner: "Registrations", unregister: UnregisterClient, run: Callable[[Operation[None]], None]):
        self._owner = owner
        self._unregister = unregister
        self._run = run

    def close(self) -> None:
        """Brokers are told that it stops; where one can't be told, it finds out by itself."""
        self._run(self.closing())

    def closing(self) -> Operation[None]:
        """The same as an operation."""
        return self._owner.remove(self, self._unregister)


class Registrations:
    """The producers and consumers of one client."""

    def __init__(self, host: Host, *, interval_s: float, timeout_s: float) -> None:
        self._host = host
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._producers: dict[Registration, tuple[str, Callable[[], Collection[str]]]] = {}
        self._consumers: dict[Registration, Callable[[], ConsumerData]] = {}
        self._told: set[str] = set()
        self._is_regular = False

    def add_producer(
        self, group: str, topics: Callable[[], Collection[str]], run: Callable[[Operation[None]], None]
    ) -> Registration:
        """A producer: the masters of its topics hear of it at once."""
        unregister = UnregisterClient(self._host.client_id, producer_group=group)
        registration = Registration(self, unregister, run)
        with self._lock:
            self._producers[registration] = (group, topics)
        self.beat_soon()
        return registration

    def add_consumer(
        self, group: str, data: Callable[[], ConsumerData], run: Callable[[Operation[None]], None]
    ) -> Registration:
        """A consumer: all brokers of its topics hear of it at once."""
        unregister = UnregisterClient(self._host.client_id, consumer_group=group)
        registration = Registration(self, unregister, run)
        with self._lock:
            self._consumers[registration] = data
        self.beat_soon()
        return registration

    def remove(self, registration: Registration, unregister: UnregisterClient) -> Operation[None]:
        """It stops, and brokers are told, unless another one has the same group."""
        with self._lock:
            was_there = self._producers.pop(registration, None) or self._consumers.pop(registration, None)
            groups = {group for group, _ in self._producers.values()}
        if not was_there or unregister.producer_group in groups:
            return
        # As it was when brokers were told: a process that was forked off has another id.
        header = msgspec.structs.replace(unregister, client_id=self._host.client_id)
        for address in sorted(self._told):
            try:
                question = Question(RequestCode.UNREGISTER_CLIENT, header)
                yield from self._host.ask(address, question, timeout_s=self._timeout_s)
            except EscrowError as error:
                _LOG.info("%s is not told that %s stops: %s", address, header, error)

    @property
    def is_empty(self) -> bool:
        """Whether there is nobody to tell of."""
        return not self._producers and not self._consumers

    def topics(self) -> set[str]:
        """The topics of all of them."""
        with self._lock:
            producers = [topics for _, topics in self._producers.values()]
            consumers = list(self._consumers.values())
        found = {topic for topics in producers for topic in topics()}
        return found | {each.topic for data in consumers for each in data().subscriptions}

    def beat_soon(self) -> None:
        """Brokers are told now, and from now on regularly."""
        with self._lock:
            is_first, self._is_regular = not self._is_regular, True
        self._host.begin(self.beat(), _log_failure)
        if is_first:
            self._host.later(self._interval_s, self._beat_regularly)

    def beat(self) -> Operation[None]:
        """Every broker is told, none waiting for another."""
        for topic in sorted(self.topics()):
            try:
                yield from self._host.route(topic)
            except EscrowError as error:
                _LOG.debug("no broker hears of topic %s: %s", topic, error)
        for address in self._targets():
            self._host.begin(self._beat_one(address), partial(_log_unheard, address))

    def connection_ended(self, address: str) -> None:
        """A broker that is told forgets whoever is not connected: it is told again as soon as it can be."""
        if address in self._told and not self.is_empty:
            self._told.discard(address)
            self._host.later(_AGAIN_AFTER_S, lambda: self._beat_again(address, _AGAIN_AFTER_S))

    def found(self, route: TopicRoute) -> None:
        """A route is known: brokers in it that were not told yet are told now."""
        addresses = {address for broker in route.data.brokers for address in broker.addresses.values()}
        if not self.is_empty and addresses & (self._targets() - self._told):
            for address in addresses & (self._targets() - self._told):
                self._host.begin(self._beat_one(address), partial(_log_unheard, address))

    def forget_parent(self) -> None:
        """In a process that was forked off nobody was told of anything."""
        self._lock = threading.Lock()
        self._told = set()
        self._is_regular = False

    def _targets(self) -> set[str]:
        """Compat: slaves hear of consumers only."""
        return set(self._host.routes.addresses(only_masters=not self._consumers))

    def _beat_one(self, address: str) -> Operation[None]:
        if self.is_empty:
            return
        body = msgspec.json.encode(self._heartbeat())
        question = Question(RequestCode.HEART_BEAT, body=body)
        self._told.add(address)
        yield from self._host.ask(address, question, timeout_s=self._timeout_s)

    def _beat_again(self, address: str, after_s: float) -> None:
        """Twice as late every time, until the regular heartbeats take over."""
        if self.is_empty or address in self._told or address not in self._targets():
            return

        def judge(outcome: Outcome[None]) -> None:
            if outcome.error is not None and after_s < self._interval_s:
                self._told.discard(address)
                self._host.later(2 * after_s, lambda: self._beat_again(address, 2 * after_s))

        self._host.begin(self._beat_one(address), judge)

    def _beat_regularly(self) -> None:
        if self._is_regular:
            self._host.begin(self.beat(), _log_failure)
            self._host.later(self._interval_s, self._beat_regularly)

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(self._host.client_id, list(self._producer_data()), self._consumer_data())

    def _producer_data(self) -> Iterator[ProducerData]:
        with self._lock:
            groups = {group for group, _ in self._producers.values()}
        return (ProducerData(group) for group in sorted(groups))

    def _consumer_data(self) -> list[ConsumerData]:
        with self._lock:
            consumers = list(self._consumers.values())
        return [data() for data in consumers]


def _log_failure(outcome: Outcome[None]) -> None:
    if outcome.error is not None:
        _LOG.warning("heartbeats fail: %s", outcome.error)


def _log_unheard(address: str, outcome: Outcome[None]) -> None:
    if outcome.error is not None:
        _LOG.info("%s does not hear of this client: %s", address, outcome.error)
