"""Small stores for tests: files of a few kilobytes, so that a short test fills several, and no expiry of its own."""

import hashlib
from pathlib import Path
from typing import Any

from escrowmq import Record, Store

SEGMENT_SIZE = 16_384

SMALL: dict[str, Any] = {
    "segment_size_bytes": SEGMENT_SIZE,
    "queue_file_entries": 50,
    "index_slots": 64,
    "index_entries": 256,
}

# A test must not fail because its machine's disk is nearly full.
ANY_DISK: dict[str, Any] = {"disk_clean_ratio": 1.0, "disk_force_ratio": 1.0, "disk_refuse_ratio": 1.0}

# Every full segment may go, at any hour.
EXPIRE_NOW: dict[str, Any] = {"retention_age_ms": 0, "disk_clean_ratio": 0.0}


def open_small(folder: Path, **options: Any) -> Store:
    """Opens a store with small files."""
    return Store.open(folder, **(SMALL | ANY_DISK | options))


def every_record(store: Store) -> list[Record]:
    """All records that stand in a queue, in the order of the log."""
    records = [record for queue in store.queues() for record in store.iterate(queue.topic, queue.queue_id)]
    return sorted(records, key=lambda record: record.log_offset)


def fingerprint(folder: Path) -> dict[str, str]:
    """Every path below a folder with a hash of its content: equal before and after means unchanged."""

    def content(path: Path) -> str:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"

    return {str(path.relative_to(folder)): content(path) for path in sorted(folder.rglob("*"))}
