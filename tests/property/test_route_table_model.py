"""The route table against plain sets, while brokers come, go, fall silent and take each other's seats."""

from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from escrowmq.model.data_version import DataVersion
from escrowmq.model.topic import TopicConfig
from escrowmq.namesrv.registration import Registration
from escrowmq.namesrv.route_table import RouteTable

CLUSTERS = some.sampled_from(["C1", "C2"])
NAMES = some.sampled_from(["broker-a", "broker-b"])
IDS = some.sampled_from([0, 0, 1, 2])
ADDRESSES = some.sampled_from(["host:1", "host:2", "host:3"])
CONNECTIONS = some.sampled_from([1, 2, 3])
TOPICS = some.sets(some.sampled_from(["t0", "t1", "t2", "t3"]), min_size=1)

Seat = tuple[str, str, int]


class RouteTableModel(RuleBasedStateMachine):
    """A seat is cluster, name and id; each address has at most one. Brokers are from before acting masters."""

    def __init__(self) -> None:
        super().__init__()
        self.table = RouteTable(broker_timeout_ms=100)
        self.now_ms = 0
        self.seats: dict[str, Seat] = {}
        self.heard: dict[str, tuple[int, int]] = {}
        self.topics: dict[str, set[str]] = {}

    @rule(
        cluster=CLUSTERS, name=NAMES, broker_id=IDS, address=ADDRESSES, connection=CONNECTIONS, topics=TOPICS,
        counter=some.integers(0, 2), state=some.integers(0, 1),
    )  # fmt: skip
    def register(
        self, *, cluster: str, name: str, broker_id: int, address: str, connection: int, topics: set[str], counter: int,
        state: int,
    ) -> None:  # fmt: skip
        registered = self.table.register(
            Registration(
                cluster=cluster,
                broker_name=name,
                broker_id=broker_id,
                address=address,
                ha_address=f"{address}-ha",
                connection=connection,
                topics={topic: TopicConfig(topic) for topic in topics},
                data_version=DataVersion(counter, state),
            ),
            now_ms=self.now_ms,
        )
        if registered is None:
            assert len(topics) == 1
            return
        if self.table.live.get(address) is None:
            self.leave(address)
            return
        holder = next((where for where, seat in self.seats.items() if seat[1:] == (name, broker_id)), None)
        if address in self.seats and self.seats[address][1] != name:
            self.leave(address)
        if holder is not None and holder != address:
            del self.seats[holder], self.heard[holder]
        # Whoever registers last says which cluster a name belongs to.
        self.seats[address] = (cluster, name, broker_id)
        self.heard[address] = (connection, self.now_ms)
        if broker_id == 0:
            self.topics.setdefault(name, set()).update(topics)
        assert registered.master_address == (
            None if broker_id == 0 else next((at for at, seat in self.seats.items() if seat[1:] == (name, 0)), None)
        )

    @rule(cluster=CLUSTERS, name=NAMES, address=ADDRESSES)
    def unregister(self, cluster: str, name: str, address: str) -> None:
        is_there = self.seats.get(address, ("", "", 0))[:2] == (cluster, name)
        assert self.table.unregister(cluster=cluster, broker_name=name, address=address) == is_there
        if is_there:
            self.leave(address)

    @rule(connection=CONNECTIONS)
    def close(self, connection: int) -> None:
        gone = {address for address, (by, _) in self.heard.items() if by == connection}
        assert {live.address for live in self.table.drop_connection(connection)} == gone
        for address in gone:
            self.leave(address)

    @rule(duration_ms=some.integers(0, 80))
    def wait(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        gone = {address for address, (_, at_ms) in self.heard.items() if at_ms + 100 < self.now_ms}
        assert {live.address for live in self.table.drop_overdue(self.now_ms)} == gone
        for address in gone:
            self.leave(address)

    @rule(topic=some.sampled_from(["t0", "t1"]))
    def delete_topic(self, topic: str) -> None:
        self.table.delete_topic(topic)
        for topics in self.topics.values():
            topics.discard(topic)

    def leave(self, address: str) -> None:
        _, name, _ = self.seats.pop(address, ("", "", 0))
        self.heard.pop(address, None)
        if all(seat[1] != name for seat in self.seats.values()):
            self.topics.pop(name, None)

    @invariant()
    def every_address_has_one_seat_and_is_alive(self) -> None:
        seated = {
            address: (name, broker_id)
            for name, broker in self.table.brokers.items()
            for broker_id, address in broker.addresses.items()
        }
        assert seated == {address: seat[1:] for address, seat in self.seats.items()}
        assert set(self.table.live) == set(self.seats)
        assert all(broker.addresses for broker in self.table.brokers.values())

    @invariant()
    def clusters_list_what_brokers_say(self) -> None:
        said: dict[str, set[str]] = {}
        for name, broker in self.table.brokers.items():
            said.setdefault(broker.cluster, set()).add(name)
        assert self.table.clusters == said

    @invariant()
    def every_topic_has_a_route_to_brokers_that_are_there(self) -> None:
        expected = {topic for topics in self.topics.values() for topic in topics}
        assert set(self.table.topics) == expected
        for topic in expected:
            route = self.table.route(topic)
            assert route is not None
            has_it = {name for name, topics in self.topics.items() if topic in topics}
            assert {queue.broker_name for queue in route.queues} == {broker.name for broker in route.brokers} == has_it


TestRouteTable = RouteTableModel.TestCase
TestRouteTable.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
