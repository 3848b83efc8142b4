"""Frames and records as values; hostile bytes are refused with a clear error."""

import pytest

from escrowmq import Frame, decode_frames, decode_records, encode_frames
from escrowmq.errors import BadFrame, BadRecord


@pytest.mark.parametrize("header_kind", ["json", "binary"])
def test_a_frame_comes_back(header_kind: str) -> None:
    frame = Frame(
        310,
        language="GO",
        version=401,
        opaque=7,
        flag=2,
        remark="für später",
        ext_fields={"a": "group", "b": "topic"},
        body=b"body",
        header_kind=header_kind,  # type: ignore[arg-type]
    )
    data = encode_frames([frame])
    frames, consumed = decode_frames(data)
    assert consumed == len(data)
    assert frames == [frame]
    assert frame.is_one_way
    assert not frame.is_response
    assert frames[0].ext_fields == {"a": "group", "b": "topic"}
    assert frames[0].remark == "für später"
    assert frames[0].language == "GO"


def test_a_body_is_a_view_of_what_was_received() -> None:
    data = encode_frames([Frame(1, body=b"body")])
    (frame,), _ = decode_frames(data)
    assert frame.body.readonly
    assert frame.body.obj is data


def test_half_a_frame_waits_for_the_rest() -> None:
    data = encode_frames([Frame(1, body=b"first"), Frame(2, body=b"second")])
    frames, consumed = decode_frames(data[:-1])
    assert [frame.code for frame in frames] == [1]
    assert decode_frames(data[consumed:])[0][0].code == 2


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"\xff\xff\xff\xff", "-1 bytes"),
        (b"\x00\x00\x00\x02xx", "2 bytes"),
        (b"\x7f\xff\xff\xff", "2147483651 bytes is larger than the limit"),
        (b"\x00\x00\x00\x08\x09\x00\x00\x00abcd", "kind 9"),
        (b"\x00\x00\x00\x08\x00\x00\x00\x64abcd", "header of 100 bytes"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x02[]", "JSON"),
    ],
)
def test_a_hostile_frame_is_refused(data: bytes, fact: str) -> None:
    with pytest.raises(BadFrame, match=fact):
        decode_frames(data)


def test_the_frame_limit_is_the_callers() -> None:
    data = encode_frames([Frame(1, body=bytes(1_000))])
    with pytest.raises(BadFrame, match="limit of 1000"):
        decode_frames(data, frame_size_max_bytes=1_000)


def test_a_code_beyond_16_bits_needs_json() -> None:
    with pytest.raises(BadFrame, match="200050"):
        encode_frames([Frame(200_050, header_kind="binary")])
    assert encode_frames([Frame(200_050, header_kind="json")])


def test_an_unknown_header_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="xml"):
        Frame(1, header_kind="xml")  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"x", bytes(8), b"\x00\x00\x00\x5b\xda\xa3\x20\xa7" + b"\xff" * 83])
def test_bytes_that_are_no_record_are_refused(data: bytes) -> None:
    with pytest.raises(BadRecord):
        decode_records(data)
