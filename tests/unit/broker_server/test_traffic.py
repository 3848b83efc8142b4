"""What came in for a topic and went out to a group, as operators read it."""

from pathlib import Path

from tests.unit.broker_server.broker import ORDERS, ask, connected, pull, send, started

from escrowmq import Traffic


def test_traffic_is_counted_by_topic_and_by_group(tmp_path: Path) -> None:
    with started(tmp_path) as server, connected(server) as peer:
        assert server.traffic_in() == {"orders": Traffic()}
        assert server.traffic_out() == {}
        for body in (b"one", b"two"):
            assert ask(peer, send(body)).code == 0
        found = ask(peer, pull(0, group="billing"))
        size_bytes = len(found.body)
        assert server.traffic_in() == {"orders": Traffic(messages=2, size_bytes=size_bytes)}
        assert server.traffic_out() == {("orders", "billing"): Traffic(messages=2, size_bytes=size_bytes)}


def test_what_is_appended_without_the_fast_lane_can_be_counted(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        server.count_in("orders", messages=2, size_bytes=300)
        server.set_topics({"orders": ORDERS, "payments": ORDERS})
        server.count_in("payments", messages=1, size_bytes=100)
        server.count_in("nowhere", messages=1, size_bytes=100)
        assert server.traffic_in() == {
            "orders": Traffic(messages=2, size_bytes=300),
            "payments": Traffic(messages=1, size_bytes=100),
        }
