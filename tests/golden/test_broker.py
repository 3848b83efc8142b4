"""Conversations with Apache's broker: what clients asked of it and is not hot, asked of our handlers; same answers."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.golden.recordings import broker_frames
from tests.unit.broker.desk import Desk

from escrowmq._core import Frame
from escrowmq.protocol.request_codes import RequestCode

ASKED = {
    RequestCode.HEART_BEAT,
    RequestCode.UNREGISTER_CLIENT,
    RequestCode.CHECK_CLIENT_CONFIG,
    RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.LOCK_BATCH_MQ,
    RequestCode.UNLOCK_BATCH_MQ,
}


def conversation(name: str) -> Iterator[tuple[int, Frame, Frame | None, list[str]]]:
    """Requests with their answers, and the groups whose members were told of a change by then."""
    frames = list(broker_frames(name))
    answers = {
        (connection, frame.opaque): frame
        for connection, side, frame in frames
        if side == "server" and frame.is_response
    }
    told: list[str] = []
    for connection, side, frame in frames:
        if side == "server" and not frame.is_response and frame.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            told.append(frame.ext_fields["consumerGroup"])
        elif side == "client" and not frame.is_response and frame.code in ASKED:
            yield connection, frame, answers.get((connection, frame.opaque)), told


@pytest.mark.parametrize("name", ["json", "binary"])
def test_our_handlers_answer_as_apaches_broker_did(name: str) -> None:
    desk = Desk()
    seen = set()
    recorded_told: list[str] = []
    ours_told: list[str] = []
    for connection, request, recorded, told in conversation(name):
        answer = desk.ask(request.code, request.ext_fields, bytes(request.body), connection=connection)
        ours_told += sorted(desk.told())
        recorded_told = told
        seen.add(request.code)
        assert recorded is not None
        assert (answer.code, answer.remark) == (recorded.code, recorded.remark), request
        assert dict(answer.ext_fields) == recorded.ext_fields
        assert value(answer.body) == value(bytes(recorded.body))
    assert seen == ASKED
    # A group is told of its first member; of its last one's leaving nobody is left to be told.
    assert set(ours_told) == set(recorded_told)


def value(body: bytes) -> Any:
    """What a body says, whatever the order of its fields and sets."""
    if not body:
        return None
    decoded = msgspec.json.decode(body)
    return {name: sorted(item, key=repr) if isinstance(item, list) else item for name, item in decoded.items()}
