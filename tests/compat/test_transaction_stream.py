"""Prepares and decisions as producers send them: many, mixed, without waiting for answers."""

from collections.abc import Iterator, Mapping

import pytest
from tests.compat.transacting import COMMIT, end_fields
from tests.unit.server.peer import Peer, fetch_requests

from escrowmq import Frame, Server, _core
from escrowmq.broker.stamp import Stamp
from escrowmq.protocol import properties
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode
from escrowmq.testing import LocalBroker
from escrowmq.transaction.preparing import half_properties
from escrowmq.transaction.topics import HALF_TOPIC

PLAIN = {"UNIQ_KEY": "7F", "TRAN_MSG": "true", "PGROUP": "shop"}
FIELDS = {"a": "shop", "b": "orders", "c": "TBW102", "d": "4", "e": "2", "f": "4", "g": "77", "h": "9", "j": "0"}


def prepare(pairs: Mapping[str, str], opaque: int = 1, *, body: bytes = b"body", **changed: str) -> Frame:
    fields = {**FIELDS, "i": properties.encode(pairs).decode(), **changed}
    return Frame(RequestCode.SEND_MESSAGE_V2, opaque=opaque, ext_fields=fields, body=body)


def end(prepared: Frame, opaque: int) -> Frame:
    fields = prepared.ext_fields
    named = end_fields(
        "shop",
        fields["transactionId"],
        half_offset=fields["queueOffset"],
        log_offset=str(int(fields["msgId"][-16:], 16)),
        decision=COMMIT,
    )
    return Frame(RequestCode.END_TRANSACTION, opaque=opaque, ext_fields=named)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server.start(["127.0.0.1:0"]) as started:
        yield started


@pytest.fixture
def stamp() -> Stamp:
    return Stamp(
        region="r1", cluster="c1", asks_for_traces=True, store_host="127.0.0.1:10911", wall_ms=lambda: 1_794_984_736_720
    )


def read(server: Server, stamp: Stamp, frame: Frame) -> _core.Prepare | None:
    with Peer(server.addresses[0]) as peer:
        peer.send(frame)
        (found,) = stamp.prepares.read(fetch_requests(server, 1))
    return found


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"TAGS": "paid", "KEYS": "order-1 order-2", "own": "a=b"},
        {"MSG_REGION": "mine", "CLUSTER": "mine", "TRACE_ON": "no", "POP_CK": "1"},
        {"REAL_TOPIC": "other", "REAL_QID": "9", "TRANSACTION_CHECK_TIMES": "14", "TRAN_PREPARED_QUEUE_OFFSET": "3"},
        {"ESCROWMQ_ROOT": "1,2", "ESCROWMQ_DECIDED": "C1@x", "DELAY": "0"},
    ],
)
def test_an_ordinary_half_message_carries_what_any_other_does(
    server: Server, stamp: Stamp, more: dict[str, str]
) -> None:
    pairs = {**PLAIN, **more}
    prepared = read(server, stamp, prepare(pairs))
    assert prepared is not None
    message = prepared.to_message()
    assert message.properties == half_properties(stamp.complete(pairs), topic="orders", queue_id=2)
    assert (message.topic, message.queue_id, message.body) == (HALF_TOPIC, 0, b"body")
    assert (message.flag, message.sys_flag, message.born_timestamp_ms) == (9, 0, 77)
    assert (prepared.topic, prepared.queue_id, prepared.group, prepared.unique_id) == ("orders", 2, "shop", "7F")


@pytest.mark.parametrize(
    "frame",
    [
        prepare({**PLAIN, "TRAN_MSG": "false"}),
        prepare({**PLAIN, "DELAY": "3"}),
        prepare({**PLAIN, "TIMER_DELAY_SEC": "3"}),
        prepare({**PLAIN, "PGROUP": " "}),
        prepare({"TRAN_MSG": "true", "PGROUP": "shop"}),
        prepare({"TRAN_MSG": "true", "UNIQ_KEY": "7F"}),
        prepare({**PLAIN, "long": "x" * 8_000}),
        prepare(PLAIN, body=b""),
        prepare(PLAIN, e="-1"),
        prepare(PLAIN, e="two"),
        prepare(PLAIN, j="1"),
        prepare(PLAIN, m="true"),
        prepare(PLAIN, b="%RETRY%shop"),
        Frame(RequestCode.END_TRANSACTION, opaque=1),
    ],
)
def test_what_is_out_of_the_ordinary_is_left_alone(server: Server, stamp: Stamp, frame: Frame) -> None:
    assert read(server, stamp, frame) is None


def test_what_is_sent_together_is_handled_in_its_order() -> None:
    with LocalBroker(flush="async") as broker:
        broker.create_topic("orders", queues=3)
        with Peer(broker.address) as peer:
            peer.send(prepare(PLAIN))
            (first,) = peer.receive()
            again = {**PLAIN, "UNIQ_KEY": "80"}
            # A retry of the first, its commit, the same id once more for another transaction, and others around them.
            peer.send(
                prepare(again, 2),
                prepare(PLAIN, 3),
                end(first, 4),
                prepare(PLAIN, 5),
                prepare(again, 6),
                prepare({**PLAIN, "UNIQ_KEY": "81"}, 7, e="99"),
                end(first, 8),
            )
            answers = {frame.opaque: frame for frame in peer.receive(7)}
            assert answers[3].ext_fields["queueOffset"] == first.ext_fields["queueOffset"]
            assert (answers[4].code, answers[4].remark) == (ResponseCode.SUCCESS, None)
            assert answers[8].code == ResponseCode.SUCCESS
            offsets = {opaque: answers[opaque].ext_fields["queueOffset"] for opaque in (2, 3, 5, 6)}
            assert offsets[6] == offsets[2]
            assert len({offsets[2], offsets[3], offsets[5]}) == 3
            assert answers[7].code == ResponseCode.INVALID_PARAMETER
        assert len(broker.messages("orders", count=1)) == 1
        assert len(broker.messages(HALF_TOPIC)) == 3
