"""What was recorded with Apache's name server is asked of ours, and the answers are equal field by field."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.golden import name_server_conversation as conversation
from tests.golden.recordings import DATA
from tests.unit.namesrv.desk import Desk, fastjson_value, unquoted_keys

from escrowmq import Frame, decode_frames
from escrowmq.protocol.bodies.register_broker import decode_register_broker
from escrowmq.protocol.messages import Answer
from escrowmq.protocol.request_codes import RequestCode


def recorded(file_name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / file_name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def frame_of(row: dict[str, Any]) -> Frame:
    (frame,), _ = decode_frames(bytes.fromhex(row["frame"]))
    return frame


def ask(desk: Desk, request: Frame, connection: int) -> Answer:
    return desk.ask(
        request.code, request.ext_fields, bytes(request.body), version=request.version, connection=connection
    )


def assert_equal(ours: Answer, theirs: Frame, request: Frame) -> None:
    what = f"{RequestCode(request.code).name if request.code != 999 else 999} {request.ext_fields}"
    assert (ours.code, ours.remark) == (theirs.code, theirs.remark), what
    assert ours.ext_fields == theirs.ext_fields, what
    assert fastjson_value(ours.body) == fastjson_value(bytes(theirs.body)), what


def test_the_whole_conversation_goes_as_with_apache() -> None:
    """Answers to every request of a name server, in order, as brokers come, go and take each other's places."""
    desk = Desk()
    asked: Frame | None = None
    answers = 0
    for row in recorded("namesrv-conversation.jsonl.gz"):
        if "closed" in row:
            desk.liveness.connection_closed(row["connection"], "peer")
        elif row["from"] == "client":
            asked = frame_of(row)
            answer = ask(desk, asked, row["connection"])
        else:
            assert asked is not None
            theirs = frame_of(row)
            assert_equal(answer, theirs, asked)
            if "__ZONE_MODE" not in asked.ext_fields:
                assert unquoted_keys(answer.body) == unquoted_keys(bytes(theirs.body))
            answers += 1
    assert answers == 155


def test_the_recorded_conversation_is_the_one_that_is_written_down() -> None:
    recording = [
        frame_of(row) for row in recorded("namesrv-conversation.jsonl.gz") if row["from"] == "client" and "frame" in row
    ]
    written = [step for step in conversation.steps() if isinstance(step, conversation.Ask)]
    assert [(frame.code, frame.ext_fields, bytes(frame.body), frame.version) for frame in recording] == [
        (step.code, dict(step.fields), step.body, step.version) for step in written
    ]


@pytest.mark.parametrize("capture", ["json", "binary"])
def test_the_scenario_of_the_java_clients_goes_as_with_apache(capture: str) -> None:
    """The capture begins when the broker has registered: it is told first what the broker says later of itself."""
    rows = [row for row in recorded(f"frames-{capture}.jsonl.gz") if row["server"] == "namesrv"]
    frames = [(frame_of(row), row) for row in rows]
    desk = Desk()
    register_before(desk, [frame for frame, _ in frames])
    answers: dict[tuple[int, int], tuple[Frame, Answer]] = {}
    for frame, row in frames:
        key = (row["connection"], frame.opaque)
        if row["from"] == "client":
            answers[key] = (frame, ask(desk, frame, row["connection"]))
        else:
            request, ours = answers.pop(key)
            assert_equal(ours, frame, request)
            assert unquoted_keys(ours.body) == unquoted_keys(bytes(frame.body))
    assert not answers


def register_before(desk: Desk, frames: list[Frame]) -> None:
    """Registers the broker with the topics that it did not make during the capture."""
    registrations = [frame for frame in frames if frame.code == RequestCode.REGISTER_BROKER and not frame.is_response]
    tables = [
        (frame, decode_register_broker(frame.body, is_compressed=False, version=frame.version).table.topics)
        for frame in registrations
    ]
    made = {name for _, topics in tables if len(topics) == 1 for name in topics}
    frame, topics = next((frame, topics) for frame, topics in tables if len(topics) > 1)
    body = json.loads(bytes(frame.body))
    body["topicConfigSerializeWrapper"]["topicConfigTable"] = {
        name: topic
        for name, topic in body["topicConfigSerializeWrapper"]["topicConfigTable"].items()
        if name not in made
    }
    assert len(topics) > len(body["topicConfigSerializeWrapper"]["topicConfigTable"]) > 1
    fields = {name: value for name, value in frame.ext_fields.items() if name != "bodyCrc32"}
    assert desk.ask(frame.code, fields, json.dumps(body).encode()).code == 0
