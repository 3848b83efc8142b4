"""The ids of messages."""

from pathlib import Path

import pytest
from tests.opening import open_small

from escrowmq import Message
from escrowmq.model.message_id import UniqueIds, log_offset_of, offset_message_id, store_host_of


@pytest.mark.parametrize("host", ["127.0.0.1:10911", "[2001:db8::1]:10911"])
def test_an_id_says_where_a_message_is_as_its_record_does(tmp_path: Path, host: str) -> None:
    with open_small(tmp_path, store_host=host) as store:
        receipts = store.append([Message("orders", b"one"), Message("orders", b"two")])
        store.wait_visible(receipts.end_offset)
        for record in store.read("orders", 0, 0):
            assert offset_message_id(host, record.log_offset) == record.offset_message_id


@pytest.mark.parametrize("host", ["127.0.0.1:10911", "[2001:db8::1]:10911"])
def test_from_an_id_it_can_be_read_where_a_message_is(host: str) -> None:
    message_id = offset_message_id(host, 1_598)
    assert (store_host_of(message_id), log_offset_of(message_id)) == (host, 1_598)


@pytest.mark.parametrize("text", ["", "7F", "x" * 32, "7F" * 17])
def test_what_is_no_id_says_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=r"no id|hexadecimal"):
        store_host_of(text)


def test_an_id_says_who_made_it_and_when() -> None:
    ids = UniqueIds("127.0.0.1:10911", process_id=0x1_4786, maker=0x30946E09)
    # The recorded broker made one at this time.
    assert ids.next(wall_ms=1_794_984_736_720) == "7F000001478630946E0959058FD00001"
    assert ids.next(wall_ms=1_794_984_736_720) == "7F000001478630946E0959058FD00002"
    begin_of_month = 1_793_491_200_000
    assert ids.next(wall_ms=begin_of_month)[-12:-4] == "00000000"
    assert ids.next(wall_ms=begin_of_month - 1)[-12:-4] == "9FA523FF"


def test_an_id_comes_again_only_after_all_others() -> None:
    ids = UniqueIds("127.0.0.1:10911", process_id=1, maker=2)
    made = {ids.next(wall_ms=0) for _ in range(65_536)}
    assert len(made) == 65_536
