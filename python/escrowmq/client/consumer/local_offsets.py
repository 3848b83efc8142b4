"""How far a member of a broadcasting group is, in a file of its own, where and how RocketMQ's client keeps it.

    ~/.rocketmq_offsets/<client id>/<group>/offsets.json:

    {"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:5}}

Each write replaces the file; the one before stays beside it as `.bak`, and is read where the file is none.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from escrowmq.errors import BadBody
from escrowmq.model.message_queue import MessageQueue
from escrowmq.protocol.bodies.queue_offsets import decode_queue_offsets, encode_queue_offsets


def offsets_file(root: Path, client_id: str, group: str) -> Path:
    """Where a group's offsets of this client are."""
    return root / client_id / group / "offsets.json"


def load_offsets(path: Path) -> dict[MessageQueue, int]:
    """The offsets in a file, or in its backup; none where there is neither.

    Raises:
        BadBody: Both are something else.
    """
    problem: BadBody | None = None
    for candidate in (path, _backup(path)):
        try:
            return decode_queue_offsets(candidate.read_bytes())
        except FileNotFoundError:
            continue
        except BadBody as error:
            problem = error
    if problem is not None:
        raise problem
    return {}


def save_offsets(path: Path, offsets: Mapping[MessageQueue, int]) -> None:
    """Replaces a file, durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".json.tmp")
    with written.open("wb") as file:
        file.write(encode_queue_offsets(offsets))
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        path.replace(_backup(path))
    written.replace(path)


def _backup(path: Path) -> Path:
    return path.with_suffix(".json.bak")
