"""Messages with a time of their own, sent in raw frames, and what became of them in a store's folder."""

import time
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.compat.broker_process import Client

from escrowmq import Record, Store
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

TOPIC = "appointments"
QUEUES = 4


@dataclass
class Ledger:
    """What was sent, by its key: not before which time it may come, and whether that was acknowledged."""

    due_ms: dict[str, int] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)

    def send(self, client: Client, key: str, delay_ms: int) -> None:
        """Sends a message and waits for its acknowledgement."""
        self.due_ms[key] = wall_ms() + delay_ms
        answer = client.ask(RequestCode.SEND_MESSAGE_V2, fields(key, f"TIMER_DELAY_MS\x01{delay_ms}\x02"), key.encode())
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        self.acknowledged.add(key)

    def last_due_ms(self) -> int:
        """When the last message is due."""
        return max(self.due_ms.values())

    def check(self, records: list[Record]) -> int:
        """Nothing acknowledged is missing, nothing is early or unknown; how often something came again."""
        counts = Counter(record.unique_id or "" for record in records)
        missing = self.acknowledged - counts.keys()
        assert not missing, f"{len(missing)} of {len(self.acknowledged)} are lost: {sorted(missing)[:5]}"
        assert counts.keys() <= self.due_ms.keys()
        early = {
            record.unique_id: self.due_ms[record.unique_id or ""] - record.store_timestamp_ms
            for record in records
            if record.store_timestamp_ms < self.due_ms[record.unique_id or ""]
        }
        assert not early, f"milliseconds too early: {early}"
        return counts.total() - len(counts)


def fields(key: str, properties: str) -> dict[str, str]:
    """Fields of a send."""
    return {
        "a": "producers",
        "b": TOPIC,
        "c": "TBW102",
        "d": str(QUEUES),
        "e": str(zlib.crc32(key.encode()) % QUEUES),
        "f": "0",
        "g": str(wall_ms()),
        "h": "0",
        "i": f"UNIQ_KEY\x01{key}\x02{properties}",
        "j": "0",
        "k": "false",
        "m": "false",
    }


def delivered(folder: Path) -> list[Record]:
    """What a store that nobody uses holds for consumers of the topic."""
    with Store.open(folder, disk_clean_ratio=1.0, disk_force_ratio=1.0, disk_refuse_ratio=1.0) as store:
        return [record for queue in range(QUEUES) for record in store.iterate(TOPIC, queue)]


def wall_ms() -> int:
    return time.time_ns() // 1_000_000
