"""Every frame that RocketMQ's own client, name server and broker sent decodes, and encodes back."""

import json

import pytest
from tests.golden import recordings

from escrowmq import Frame, decode_frames, decode_records, encode_frames

CAPTURES = ["json", "binary"]
PULL_MESSAGE, SUCCESS = 11, 0


def decode_one(frame: bytes) -> Frame:
    decoded, consumed = decode_frames(frame)
    assert consumed == len(frame)
    (only,) = decoded
    return only


@pytest.mark.parametrize("capture", CAPTURES)
def test_every_frame_comes_back_as_an_equal_value(capture: str) -> None:
    for frame in recordings.frames(capture):
        decoded = decode_one(frame)
        assert decode_one(encode_frames([decoded])) == decoded


def test_every_frame_with_a_binary_header_comes_back_as_the_same_bytes() -> None:
    binary = [frame for frame in recordings.frames("binary") if decode_one(frame).header_kind == "binary"]
    assert len(binary) == 277
    for frame in binary:
        assert encode_frames([decode_one(frame)]) == frame


@pytest.mark.parametrize("capture", CAPTURES)
def test_json_headers_hold_what_another_parser_finds(capture: str) -> None:
    for frame in recordings.frames(capture):
        decoded = decode_one(frame)
        if decoded.header_kind != "json":
            continue
        header_size = int.from_bytes(frame[5:8])
        header = json.loads(frame[8 : 8 + header_size])
        assert decoded.code == header["code"]
        assert decoded.language == header["language"]
        assert decoded.version == header["version"]
        assert decoded.opaque == header["opaque"]
        assert decoded.flag == header["flag"]
        assert decoded.remark == header.get("remark")
        assert decoded.ext_fields == header.get("extFields", {})
        assert decoded.body == frame[8 + header_size :]


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_stream_of_frames_is_cut_wherever_it_is_torn(capture: str) -> None:
    """All frames in one buffer, cut at sizes that fall into lengths, headers and bodies."""
    stream = b"".join(recordings.frames(capture))
    whole, consumed = decode_frames(stream)
    assert consumed == len(stream)
    found: list[Frame] = []
    rest = b""
    for start in range(0, len(stream), 1_009):
        rest += stream[start : start + 1_009]
        frames, consumed = decode_frames(rest)
        found += frames
        rest = rest[consumed:]
    assert rest == b""
    assert found == whole


@pytest.mark.parametrize("capture", CAPTURES)
def test_pull_answers_hold_the_messages_that_the_java_client_saw(capture: str) -> None:
    store = {"json": "clean", "binary": "killed"}[capture]
    seen = {row["commitLogOffset"]: row for row in recordings.messages(store)}
    pulled = 0
    pulls: set[int] = set()
    for frame in map(decode_one, recordings.frames(capture)):
        if frame.code == PULL_MESSAGE and not frame.is_response:
            pulls.add(frame.opaque)
        elif (
            frame.is_response
            and frame.code == SUCCESS
            and frame.opaque in pulls
            and "nextBeginOffset" in frame.ext_fields
        ):
            for record in decode_records(frame.body):
                row = seen[record.log_offset]
                assert (record.topic, record.queue_id, record.queue_offset) == (
                    row["topic"],
                    row["queueId"],
                    row["queueOffset"],
                )
                assert record.size_bytes == row["storeSize"]
                pulled += 1
    assert pulled == 43
