"""The messages that our side writes: every kind of record that a broker stores, a pure function of a running number.

A test that finds such a message anywhere, whoever served it, can say from its `number` property what every field must
be. `Receipt` adds what only the store decides.
"""

import base64
import ipaddress
import itertools
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.interop.java_process import Row

HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DELAY_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
# Longer than 127 bytes, which makes a record of the second version; only retry topics may be so long.
LONG_TOPIC: Final = "%RETRY%" + "a-group-with-a-name-of-its-own-" * 5

PRODUCER_GROUP: Final = "interop-transactions"
STORE_HOST: Final = "127.0.0.1:10911"
BORN_AT_MS: Final = 1_700_000_000_000

COMPRESSED: Final = 1
PREPARED: Final = 1 << 2
COMMITTED: Final = 2 << 2
ROLLED_BACK: Final = 3 << 2
TRANSACTION_MASK: Final = 3 << 2
BORN_HOST_IPV6: Final = 1 << 4
ZLIB: Final = 3 << 8

QUEUE_COUNTS: Final[Mapping[str, int]] = {"orders": 4, "ledger": 2, "payments": 4, LONG_TOPIC: 1}
"""The topics that Apache would not serve without being told."""

TOPICS: Final[Sequence[str]] = (*QUEUE_COUNTS, DELAY_TOPIC, HALF_TOPIC, OP_TOPIC)
"""Everything that a message of ours, or of `Produce`, ever goes to."""


class Receipt(NamedTuple):
    """What the store decided about a message."""

    log_offset: int
    queue_offset: int
    size: int
    store_timestamp_ms: int


Acknowledged = dict[int, Receipt]
"""What a writer was told, by the number of the message."""


@dataclass(frozen=True, kw_only=True)
class PlannedMessage:
    """A message before it is stored. `text` is the body as a consumer sees it, `body` as it is stored."""

    number: int
    topic: str
    queue_id: int = 0
    text: bytes
    properties: Mapping[str, str] = field(default_factory=dict)
    sys_flag: int = 0
    flag: int = 0
    born_host: str = "127.0.0.1:4711"
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0

    @property
    def body(self) -> bytes:
        return zlib.compress(self.text) if self.sys_flag & COMPRESSED else self.text

    @property
    def born_timestamp_ms(self) -> int:
        return BORN_AT_MS + self.number

    @property
    def stored_properties(self) -> dict[str, str]:
        """With the number, by which the message is known again."""
        return {**self.properties, "number": str(self.number)}

    @property
    def is_queued(self) -> bool:
        """Prepared and rolled back records stay in the log, out of the queues."""
        return self.sys_flag & TRANSACTION_MASK not in (PREPARED, ROLLED_BACK)

    def row(self, receipt: Receipt) -> Row:
        """What the Java client must say about this message."""
        is_ipv6 = self.born_host.startswith("[")
        offset_id = offset_message_id(STORE_HOST, receipt.log_offset)
        return {
            "topic": self.topic,
            "queueId": self.queue_id,
            "queueOffset": receipt.queue_offset,
            "logOffset": receipt.log_offset,
            "size": receipt.size,
            # The client clears the bit when it has decompressed the body.
            "sysFlag": (self.sys_flag | (BORN_HOST_IPV6 if is_ipv6 else 0)) & ~COMPRESSED,
            "flag": self.flag,
            "bodyCrc": zlib.crc32(self.body) & 0x7FFF_FFFF,
            "bornTimestamp": self.born_timestamp_ms,
            "bornHost": self.born_host,
            "storeTimestamp": receipt.store_timestamp_ms,
            "storeHost": STORE_HOST,
            "reconsumeTimes": self.reconsume_times,
            "preparedTransactionOffset": self.prepared_transaction_offset,
            "msgId": self.properties.get("UNIQ_KEY", offset_id),
            "offsetMsgId": offset_id,
            "properties": self.stored_properties,
            "body": base64.b64encode(self.text).decode(),
        }


def offset_message_id(store_host: str, log_offset: int) -> str:
    """The id that names a record by broker address and log offset."""
    host, _, port = store_host.rpartition(":")
    address = ipaddress.ip_address(host.strip("[]")).packed
    return (address + struct.pack(">iq", int(port), log_offset)).hex().upper()


def planned(number: int) -> PlannedMessage:
    """The message with this number: the kinds come round in turn, the queues within each kind."""
    turn, kind = divmod(number, len(KINDS))
    return KINDS[kind](number, turn)


def unique_key(number: int) -> str:
    """An id as clients make them, in form."""
    return f"{0xE5C0_0000_0000_0000_0000_0000_0000_0000 + number:032X}"


def half_message(number: int, *, topic: str, queue_id: int, text: bytes) -> PlannedMessage:
    """A prepared message as it waits in the half topic for a decision."""
    key = unique_key(number)
    return PlannedMessage(
        number=number,
        topic=HALF_TOPIC,
        text=text,
        properties={
            "REAL_TOPIC": topic,
            "REAL_QID": str(queue_id),
            "TRAN_MSG": "true",
            "PGROUP": PRODUCER_GROUP,
            "UNIQ_KEY": key,
            "__transactionId__": key,
            "KEYS": f"half-{number}",
            "TAGS": "transaction",
            "WAIT": "true",
        },
    )


def _plain(number: int, turn: int) -> PlannedMessage:
    return PlannedMessage(number=number, topic="orders", queue_id=turn % 4, text=b"plain %d" % number)


def _tagged(number: int, turn: int) -> PlannedMessage:
    # The hash of the second tag is Java's smallest integer, and stays negative as a queue entry's tags code.
    properties = {"TAGS": ("created", "polygenelubricants")[turn % 2], "UNIQ_KEY": unique_key(number)}
    return PlannedMessage(
        number=number, topic="orders", queue_id=turn % 4, text=b"tagged %d" % number, properties=properties
    )


def _keyed(number: int, turn: int) -> PlannedMessage:
    properties = {"KEYS": f"key-{number} other-{number}", "UNIQ_KEY": unique_key(number), "città": "Forlì €"}
    return PlannedMessage(
        number=number, topic="orders", queue_id=turn % 4, text=b"keyed %d" % number, properties=properties
    )


def _retried(number: int, turn: int) -> PlannedMessage:
    properties = {"TAGS": "entry", "KEYS": f"account-{turn % 3}", "UNIQ_KEY": unique_key(number)}
    return PlannedMessage(
        number=number,
        topic="ledger",
        queue_id=turn % 2,
        text=b"retried %d" % number,
        properties=properties,
        flag=7,
        reconsume_times=2,
    )


def _half(number: int, turn: int) -> PlannedMessage:
    return half_message(number, topic="payments", queue_id=turn % 4, text=b"half %d" % number)


def _compressed(number: int, turn: int) -> PlannedMessage:
    return PlannedMessage(
        number=number,
        topic="orders",
        queue_id=turn % 4,
        text=b"compressed %d " % number * 400,
        properties={"UNIQ_KEY": unique_key(number)},
        sys_flag=COMPRESSED | ZLIB,
    )


def _from_ipv6(number: int, turn: int) -> PlannedMessage:
    # No group is zero, so that there is but one way to write the address.
    return PlannedMessage(
        number=number,
        topic="ledger",
        queue_id=turn % 2,
        text=b"from IPv6 %d" % number,
        properties={"UNIQ_KEY": unique_key(number)},
        born_host="[2001:db8:1:2:3:4:5:6]:4711",
    )


def _prepared(number: int, turn: int) -> PlannedMessage:
    return PlannedMessage(
        number=number,
        topic="orders",
        queue_id=turn % 4,
        text=b"prepared %d" % number,
        properties={"KEYS": f"prepared-{number}", "UNIQ_KEY": unique_key(number)},
        sys_flag=PREPARED,
    )


def _rolled_back(number: int, turn: int) -> PlannedMessage:
    return PlannedMessage(
        number=number,
        topic="orders",
        queue_id=turn % 4,
        text=b"rolled back %d" % number,
        properties={"KEYS": f"rolled-back-{number}", "UNIQ_KEY": unique_key(number)},
        sys_flag=ROLLED_BACK,
    )


def _committed(number: int, turn: int) -> PlannedMessage:
    # The half message of the same turn, which the op message of that turn marks as decided.
    half = _half(turn * len(KINDS) + KINDS.index(_half), turn)
    properties = {**half.properties, "UNIQ_KEY": unique_key(number), "__transactionId__": unique_key(number)}
    return PlannedMessage(
        number=number,
        topic="payments",
        queue_id=turn % 4,
        text=half.text,
        properties=properties,
        sys_flag=COMMITTED,
        prepared_transaction_offset=turn + 1,
    )


def _op(number: int, turn: int) -> PlannedMessage:
    # One half message a turn, so the turn is its offset in the half queue.
    return PlannedMessage(number=number, topic=OP_TOPIC, text=b"%d," % turn, properties={"TAGS": "d"})


def _empty(number: int, turn: int) -> PlannedMessage:
    properties = {"UNIQ_KEY": unique_key(number)}
    return PlannedMessage(number=number, topic="ledger", queue_id=turn % 2, text=b"", properties=properties)


def _to_long_topic(number: int, turn: int) -> PlannedMessage:
    properties = {"UNIQ_KEY": unique_key(number), "RETRY_TOPIC": "orders"}
    return PlannedMessage(
        number=number, topic=LONG_TOPIC, text=b"retry %d" % number, properties=properties, reconsume_times=turn % 16
    )


def _delayed(number: int, turn: int) -> PlannedMessage:
    # Level 18 is two hours: Apache does not deliver it while a test runs.
    return PlannedMessage(
        number=number,
        topic=DELAY_TOPIC,
        queue_id=17,
        text=b"delayed %d" % number,
        properties={
            "DELAY": "18",
            "REAL_TOPIC": "orders",
            "REAL_QID": str(turn % 4),
            "UNIQ_KEY": unique_key(number),
            "TAGS": "later",
        },
    )


def _large(number: int, turn: int) -> PlannedMessage:
    return PlannedMessage(
        number=number,
        topic="orders",
        queue_id=turn % 4,
        text=b"large %d " % number * (40 + 30 * (turn % 7)),
        properties={"UNIQ_KEY": unique_key(number)},
    )


KINDS: Final[Sequence[Callable[[int, int], PlannedMessage]]] = (
    _plain,
    _tagged,
    _keyed,
    _retried,
    _half,
    _compressed,
    _from_ipv6,
    _prepared,
    _rolled_back,
    _committed,
    _op,
    _empty,
    _to_long_topic,
    _delayed,
    _large,
)

BATCH_SIZE: Final = 7


def batches(first_number: int = 0) -> Iterator[list[PlannedMessage]]:
    """Endless batches, whose borders fall between different kinds each time."""
    for start in itertools.count(first_number, BATCH_SIZE):
        yield [planned(number) for number in range(start, start + BATCH_SIZE)]
