"""The property string of a message: `name 0x01 value 0x02`, repeated; and the names that a broker goes by."""

from collections.abc import Mapping
from typing import Final

TAGS: Final = "TAGS"
KEYS: Final = "KEYS"
UNIQUE_KEY: Final = "UNIQ_KEY"
WAIT: Final = "WAIT"
DELAY: Final = "DELAY"
SHARDING_KEY: Final = "__SHARDINGKEY"
REAL_TOPIC: Final = "REAL_TOPIC"
REAL_QUEUE_ID: Final = "REAL_QID"
RETRY_TOPIC: Final = "RETRY_TOPIC"
ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
TRANSACTION_PREPARED: Final = "TRAN_MSG"
TRANSACTION_ID: Final = "__transactionId__"
CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
ROOT: Final = "ESCROWMQ_ROOT"
"""Where the first half message of a transaction is, on its copies: `log offset,store time`. Ours."""
DECIDED: Final = "ESCROWMQ_DECIDED"
"""On op records: what becomes of the copies that they name, and who said so. Ours."""
BARRIER: Final = "ESCROWMQ_BARRIER"
"""On half messages of the SQL client: the id of the row that tells what became of their database transaction. Ours."""
BARRIER_DATABASE: Final = "ESCROWMQ_DATABASE"
"""The id of the database that has the row. Ours."""
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
TIMER_DELETE_KEY: Final = "TIMER_DEL_UNIQKEY"
BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
PRODUCER_GROUP: Final = "PGROUP"
POP_CHECKPOINT: Final = "POP_CK"
REGION: Final = "MSG_REGION"
TRACE_ON: Final = "TRACE_ON"
CLUSTER: Final = "CLUSTER"
REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
REPLY_PUSHED_MS: Final = "PUSH_REPLY_TIME"

TIMERS: Final = (TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS)
"""Each of them says when a message is to be delivered."""

# A letter takes up to four bytes.
_LENGTH_CHECKED: Final = 8_000

_VALUE_SEPARATOR: Final = "\x01"
_PAIR_SEPARATOR: Final = "\x02"


def decode(text: str) -> dict[str, str]:
    """The pairs in their order. Compat: without a name or a value it is none; of two with one name the later wins."""
    pairs = (pair.partition(_VALUE_SEPARATOR) for pair in text.split(_PAIR_SEPARATOR))
    return {name: value for name, _, value in pairs if name and value}


def encode(pairs: Mapping[str, str]) -> bytes:
    """The string of pairs that came from another one, so that none of them holds what separates them."""
    # A list is joined faster than what has to be asked for its parts.
    return "".join([f"{name}{_VALUE_SEPARATOR}{value}{_PAIR_SEPARATOR}" for name, value in pairs.items()]).encode()


def encoded_size(pairs: Mapping[str, str]) -> int:
    """How many bytes `encode` makes of them; of short ones, how many letters."""
    letters = sum(map(len, pairs)) + sum(map(len, pairs.values())) + 2 * len(pairs)
    # Most are far below any limit, and need not be written down to know it.
    return letters if letters < _LENGTH_CHECKED else len(encode(pairs))
