"""Where topics are: what name servers said, kept until they say otherwise, and the addresses of brokers in it."""

import threading
from collections.abc import Collection, Iterator

from msgspec import Struct

from escrowmq.errors import NotThere
from escrowmq.model.message_queue import MessageQueue
from escrowmq.model.route import MASTER_ID, BrokerData, TopicRouteData
from escrowmq.model.topic import Permission


class TopicRoute(Struct, frozen=True):
    """The queues of a topic, and the brokers that have them."""

    topic: str
    data: TopicRouteData
    writable: tuple[MessageQueue, ...]
    """Queues that messages may be sent to: those of brokers that have a master."""
    readable: tuple[MessageQueue, ...]
    """Queues that messages may be read from."""

    @property
    def brokers(self) -> dict[str, BrokerData]:
        """The brokers by their names."""
        return {broker.name: broker for broker in self.data.brokers}


def topic_route(topic: str, data: TopicRouteData, *, queues_max: int | None = None) -> TopicRoute:
    """The queues that a route means; of each broker no more than `queues_max`, for a topic that is yet to be made."""
    masters = {broker.name for broker in data.brokers if broker.has_master}
    known = {broker.name for broker in data.brokers}
    writable: list[MessageQueue] = []
    readable: list[MessageQueue] = []
    for queues in sorted(data.queues, key=lambda each: each.broker_name):
        name, permissions = queues.broker_name, Permission(queues.permissions)
        if Permission.WRITE in permissions and name in masters:
            writable += _queues(topic, name, queues.write_queues, queues_max)
        if Permission.READ in permissions and name in known:
            readable += _queues(topic, name, queues.read_queues, queues_max)
    return TopicRoute(topic, data, tuple(writable), tuple(readable))


def _queues(topic: str, broker_name: str, count: int, count_max: int | None) -> list[MessageQueue]:
    return [
        MessageQueue(broker_name=broker_name, queue_id=queue_id, topic=topic)
        for queue_id in range(count if count_max is None else min(count, count_max))
    ]


class Routes:
    """What is known of topics and brokers. Any thread may ask and tell."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._routes: dict[str, TopicRoute] = {}
        self._addresses: dict[str, dict[int, str]] = {}

    def forget_parent(self) -> None:
        """In a process that was forked off, whoever had the lock may not be there to give it back."""
        self._lock = threading.Lock()

    def find(self, topic: str) -> TopicRoute | None:
        """What is known of a topic."""
        return self._routes.get(topic)

    def topics(self) -> list[str]:
        """The topics that are known."""
        with self._lock:
            return list(self._routes)

    def put(self, route: TopicRoute) -> bool:
        """Takes what a name server said; whether that is news."""
        with self._lock:
            before = self._routes.get(route.topic)
            self._routes[route.topic] = route
            self._follow_brokers()
        return before is None or before.data != route.data

    def remove(self, topic: str) -> None:
        """A name server says that there is no such topic."""
        with self._lock:
            if self._routes.pop(topic, None) is not None:
                self._follow_brokers()

    def broker_address(self, broker_name: str, *, only_master: bool = True) -> str | None:
        """Where a broker is: its master, or whoever stands in; None where nobody is known."""
        addresses = self._addresses.get(broker_name)
        if not addresses:
            return None
        return addresses.get(MASTER_ID if only_master else min(addresses))

    def broker_at(self, broker_name: str, broker_id: int) -> str | None:
        """Where the broker of a name and an id is."""
        return self._addresses.get(broker_name, {}).get(broker_id)

    def addresses(self, *, only_masters: bool) -> Collection[str]:
        """Where all brokers are that have queues of a topic that is known."""
        return set(self._each_address(only_masters=only_masters))

    def _each_address(self, *, only_masters: bool) -> Iterator[str]:
        with self._lock:
            for addresses in self._addresses.values():
                for broker_id, address in addresses.items():
                    if broker_id == MASTER_ID or not only_masters:
                        yield address

    def _follow_brokers(self) -> None:
        brokers = (broker for route in self._routes.values() for broker in route.data.brokers)
        self._addresses = {broker.name: broker.addresses for broker in brokers}


def no_topic(topic: str) -> NotThere:
    """A topic that no name server knows."""
    return NotThere(f"there is no topic {topic!r}", kind="topic", name=topic)
