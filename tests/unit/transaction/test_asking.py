"""Questions on their way: to whom they go, and how often."""

import pytest
from tests.unit.transaction.room_desk import INTERVAL_MS, RoomDesk, places

from escrowmq.transaction.upkeep import put_back_before


def test_no_question_is_sent_twice_to_a_producer_that_reads_slowly(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    room.round(leaves=False)
    room.round(leaves=False)
    room.round(leaves=False)
    room.let_leave()
    assert len(set(places(room.peers.asked))) == len(room.peers.asked)


def test_while_one_producer_does_not_read_another_of_its_group_is_asked(room: RoomDesk) -> None:
    room.connect(1, "10.0.0.1:7")
    room.connect(2, "10.0.0.9:1")
    room.prepare("A")
    for _ in range(3):
        room.round(leaves=False)
    assert 2 in [asked.connection for asked in room.peers.asked]


def test_a_producer_that_reads_again_is_asked_again(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    room.round(leaves=False)
    assert room.round() == []
    assert len(room.round()) == 1


def test_a_question_that_leaves_after_its_copy_was_put_back_is_not_asked_again(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    room.round(leaves=False)
    assert put_back_before(room.store.log_end, room.index, room.store, room.journal) == 1
    room.settle()
    room.let_leave()
    room.round()
    assert room.index.pending()[0].checks == 2


def test_a_question_that_fails_costs_no_other(room: RoomDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    room.connect()
    for name in "ABC":
        room.prepare(name)
    room.clock.advance(INTERVAL_MS)
    room.check_back.run()
    room.settle()
    with monkeypatch.context() as failing:

        def fail(*_: object, **__: object) -> int:
            raise OSError("a fault of ours")

        failing.setattr(room.peers, "send", fail)
        with pytest.raises(OSError, match="a fault of ours"):
            room.check_back.run()
    assert [asked.unique_id for asked in room.round(after_ms=0)] == ["B", "C"]
    assert sorted(asked.unique_id for asked in room.round()) == ["A", "B", "C"]
