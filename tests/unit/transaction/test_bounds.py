"""How many questions are asked, how fast, and how much of the log they may take: what docs/transactions.md says."""

from itertools import pairwise
from pathlib import Path

from tests.unit.transaction.room_desk import INTERVAL_MS, RoomDesk

from escrowmq.transaction.checking import SLICE_COUNT_MAX, SLICE_PAUSE_MS, SLICE_SIZE_MAX_BYTES
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.ruling import CheckRules
from escrowmq.transaction.topics import HALF_TOPIC

MINUTE_MS = 60_000


def test_with_a_minute_and_five_questions_it_is_asked_once_a_minute_and_given_up_in_the_sixth(tmp_path: Path) -> None:
    """The settings of which the specification speaks."""
    room = RoomDesk(tmp_path, rules=CheckRules(MINUTE_MS, 5, 72 * 60 * MINUTE_MS))
    try:
        room.connect()
        room.prepare("A")
        asked = [len(room.round(after_ms=MINUTE_MS)) for _ in range(7)]
        assert asked == [1, 1, 1, 1, 1, 0, 0]
        assert (room.pending(), room.discarded()) == ([], ["A"])
    finally:
        room.close()


def test_a_transaction_leaves_as_many_copies_as_questions_and_no_more(room: RoomDesk) -> None:
    room.connect()
    room.prepare("A")
    for _ in range(20):
        room.round()
    queue = room.store.queue(HALF_TOPIC, 0)
    assert queue is not None
    assert queue.max_offset == 1 + room.rules.checks_max


def test_questions_come_no_faster_than_a_slice_every_pause(room: RoomDesk) -> None:
    room.connect()
    for number in range(3 * SLICE_COUNT_MAX):
        room.prepare(f"{number}")
    room.clock.advance(INTERVAL_MS)
    asked = []
    for _ in range(4):
        # However often it is run meanwhile.
        for _ in range(3):
            room.check_back.run()
            room.settle()
        asked.append(len(room.peers.asked))
        room.clock.advance(SLICE_PAUSE_MS)
    # A question leaves in the run after its copy is on disk.
    assert asked[-1] <= 4 * SLICE_COUNT_MAX
    steps = [later - earlier for earlier, later in pairwise(asked)]
    assert all(step <= SLICE_COUNT_MAX for step in steps)


def test_a_slice_appends_no_more_than_its_size_and_one_message(room: RoomDesk) -> None:
    room.connect()
    body = bytes(100 * 1024)
    for number in range(12):
        room.prepare(f"{number}", body=body)
    room.clock.advance(INTERVAL_MS)
    before = room.store.log_end
    room.check_back.run()
    assert 0 < room.store.log_end - before <= SLICE_SIZE_MAX_BYTES + 2 * (len(body) + 1_000)


def test_decided_ones_are_listed_for_as_long_as_is_said_and_their_decisions_hold_for_ever(room: RoomDesk) -> None:
    place = room.prepare("A")
    room.end(place, Decision.COMMIT)
    assert room.index.forget_decided_before(room.clock.wall_ms() - 1_000) == 0
    assert room.index.decided_count == 1
    room.clock.advance(2_000)
    assert room.index.forget_decided_before(room.clock.wall_ms() - 1_000) == 1
    assert room.index.decided_count == 0
    assert room.end(place, Decision.COMMIT).code == 0
    assert room.delivered() == ["A"]
