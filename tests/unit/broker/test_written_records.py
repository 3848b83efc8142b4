"""A half message can be decided as soon as its prepare is answered, in async mode too."""

from pathlib import Path

import pytest

from escrowmq import Message, Store, _core
from escrowmq.broker.written_records import WrittenRecords
from escrowmq.errors import NoRecord


def test_a_record_that_was_just_appended_is_read(tmp_path: Path) -> None:
    with Store.open(tmp_path, flush="async", segment_size_bytes=1 << 20) as store:
        records = WrittenRecords(store)
        for number in range(200):
            (receipt,) = store.append([Message("orders", f"{number}".encode())])
            assert records.record_at(receipt.log_offset).body == f"{number}".encode()


@pytest.mark.parametrize("log_offset", [1, 1 << 40])
def test_what_is_no_record_is_none(tmp_path: Path, log_offset: int) -> None:
    with _core.Store.open(tmp_path, flush="async", segment_size_bytes=1 << 20) as store:
        (receipt,) = store.append([Message("orders", b"body")])
        store.wait_visible(receipt.end_offset)
        with pytest.raises(NoRecord):
            WrittenRecords(store).record_at(log_offset)
