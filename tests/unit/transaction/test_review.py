"""What a review found and nobody has repaired yet: transactions lost, doubled, asked about too often, or too costly.

Whoever repairs one takes its test to where it belongs; one that passes here fails.
"""

import pytest
from tests.unit.broker.desk import Desk
from tests.unit.transaction.room_desk import GROUP, INTERVAL_MS, TOPIC, Place, RoomDesk

from escrowmq import _core
from escrowmq.protocol import properties
from escrowmq.protocol.bodies.transactions import decode_transactions
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.transaction.decisions import Decision
from escrowmq.transaction.preparing import half_properties
from escrowmq.transaction.topics import HALF_TOPIC

pytestmark = pytest.mark.xfail(reason="found by a review, and not repaired yet", strict=True)

COMMIT, ROLLBACK = Decision.COMMIT, Decision.ROLLBACK


def half_of_apache(room: RoomDesk, half: _core.Record, **more: str) -> Place:
    """A half record as Apache's broker writes it, which the index reads from the log when it is opened again."""
    pairs = {**half.properties, **more}
    (receipt,) = room.store.append([_core.Message.copy_of(half, properties=properties.encode(pairs))])
    return Place(receipt.queue_offset, receipt.log_offset)


def half_at(room: RoomDesk, place: Place) -> _core.Record:
    room.settle()
    return room.store.record_at(place.log_offset)


def a_half(unique_id: str) -> _core.Message:
    pairs = half_properties({"TRAN_MSG": "true", "PGROUP": GROUP, "UNIQ_KEY": unique_id}, topic=TOPIC, queue_id=1)
    return _core.Message(HALF_TOPIC, b"body", properties=properties.encode(pairs), born_timestamp_ms=1)


def test_the_oldest_that_is_pending_is_the_one_that_was_prepared_first(room: RoomDesk) -> None:
    """As `tx watch` shows it: the first of the list, which is in the order of the newest copies."""
    room.connect()
    room.prepare("first")
    room.clock.advance(INTERVAL_MS // 2)
    room.prepare("second", CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    room.round()
    answer = Desk(room=room).ask(RequestCode.ESCROWMQ_LIST_TRANSACTIONS, {"state": "pending", "countMax": "1"})
    listed = decode_transactions(answer.body)
    assert listed.transactions[0].prepared_ms == room.index.oldest_root_store_ms
