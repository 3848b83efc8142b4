"""Queries of the recorded conversations, asked of the stores that they left: the same messages, byte for byte."""

from pathlib import Path

import pytest
from tests.golden.recordings import NEVER_EXPIRE, OPTIONS, unpack_store
from tests.golden.whole_conversation import INDEX_END, recorded
from tests.unit.broker.desk import Desk

from escrowmq import Frame, Store, decode_records
from escrowmq.protocol.request_codes import RequestCode

ASKED = {RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID}


def queries(name: str) -> list[tuple[Frame, Frame]]:
    """Queries and their answers."""
    turns = recorded(f"frames-{name}.jsonl.gz").turns
    return [(turn.request, turn.answer) for turn in turns if turn.request.code in ASKED and turn.answer]


@pytest.mark.parametrize(("name", "left"), [("json", "clean"), ("binary", "killed")])
def test_a_query_finds_what_apaches_broker_found(name: str, left: str, tmp_path: Path) -> None:
    asked = queries(name)
    assert {request.code for request, _ in asked} == ASKED
    with Store.open(unpack_store(left, tmp_path), **OPTIONS, **NEVER_EXPIRE) as store:
        desk = Desk(store=store)
        for request, theirs in asked:
            answer = desk.ask(request.code, request.ext_fields, bytes(request.body), version=request.version)
            assert (answer.code, answer.remark) == (theirs.code, theirs.remark)
            assert decode_records(theirs.body)
            assert answer.body == bytes(theirs.body)
            assert answer.ext_fields.keys() == theirs.ext_fields.keys()
            # The stores are from the end of the conversation, so the index has grown since.
            for field in INDEX_END & answer.ext_fields.keys():
                assert int(answer.ext_fields[field]) >= int(theirs.ext_fields[field]) > 0
