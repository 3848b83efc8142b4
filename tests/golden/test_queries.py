"""Queries of the recorded conversations, asked of the stores that they left: the same messages, byte for byte."""

from pathlib import Path

import pytest
from tests.golden.recordings import NEVER_EXPIRE, OPTIONS, broker_frames, unpack_store
from tests.unit.broker.desk import Desk

from escrowmq import Frame, Store, decode_records
from escrowmq.protocol.request_codes import RequestCode

ASKED = {RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID}
# How far the index was when it was asked; the stores are from the end of the conversation.
INDEX_END = {"indexLastUpdatePhyoffset", "indexLastUpdateTimestamp"}


def conversation(name: str) -> list[tuple[Frame, Frame]]:
    """Queries and their answers."""
    frames = list(broker_frames(name))
    asked = {
        (connection, frame.opaque): frame
        for connection, side, frame in frames
        if side == "client" and not frame.is_response and frame.code in ASKED
    }
    answers = {
        (connection, frame.opaque): frame
        for connection, side, frame in frames
        if side == "server" and frame.is_response
    }
    return [(request, answers[key]) for key, request in asked.items()]


@pytest.mark.parametrize(("name", "left"), [("json", "clean"), ("binary", "killed")])
def test_a_query_finds_what_apaches_broker_found(name: str, left: str, tmp_path: Path) -> None:
    queries = conversation(name)
    assert {request.code for request, _ in queries} == ASKED
    with Store.open(unpack_store(left, tmp_path), **OPTIONS, **NEVER_EXPIRE) as store:
        desk = Desk(store=store)
        for request, recorded in queries:
            answer = desk.ask(request.code, request.ext_fields, bytes(request.body), version=request.version)
            assert (answer.code, answer.remark) == (recorded.code, recorded.remark)
            assert decode_records(recorded.body)
            assert answer.body == bytes(recorded.body)
            assert answer.ext_fields.keys() == recorded.ext_fields.keys()
            for field in INDEX_END & answer.ext_fields.keys():
                assert int(answer.ext_fields[field]) >= int(recorded.ext_fields[field]) > 0
