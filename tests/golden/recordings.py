"""The recordings as values. How each was made is in the .toml beside it."""

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"

# How the recorded broker was configured: 16 KiB segments, queue files of 2000 bytes, small index files.
OPTIONS: dict[str, Any] = {
    "segment_size_bytes": 16_384,
    "queue_file_entries": 100,
    "index_slots": 200,
    "index_entries": 400,
}

# A test must not fail because its machine's disk is nearly full, nor because the recordings grow old.
NEVER_EXPIRE: dict[str, Any] = {
    "retention_age_ms": 2**62,
    "disk_clean_ratio": 1.0,
    "disk_force_ratio": 1.0,
    "disk_refuse_ratio": 1.0,
}

# What the Java client adds to a message when it pulls it.
PULL_PROPERTIES = {"MIN_OFFSET", "MAX_OFFSET"}

COMPRESSED = 1


def frames(name: str) -> Iterator[bytes]:
    """Every frame of a capture, in the order they were completed."""
    for row in rows(f"frames-{name}.jsonl.gz"):
        yield bytes.fromhex(row["frame"])


def messages(name: str) -> list[dict[str, Any]]:
    """Every message of a store as the Java client decoded it."""
    return list(rows(f"messages-{name}.jsonl.gz"))


def filters() -> list[dict[str, Any]]:
    """Filter expressions, messages, and what RocketMQ made of them."""
    return list(rows("filters.jsonl.gz"))


def runtime_infos() -> list[dict[str, str]]:
    """What a broker says of itself, early and late."""
    return [row["table"] for row in rows("runtime-info.jsonl.gz")]


def unpack_store(name: str, folder: Path) -> Path:
    """Unpacks a store directory into `folder`."""
    with tarfile.open(DATA / f"store-{name}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / f"store-{name}"


def rows(file_name: str) -> Iterator[dict[str, Any]]:
    """The lines of a recording."""
    with gzip.open(DATA / file_name, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
