"""The exceptions of EscrowMQ. Python owns the classes; the native module imports and raises them.

    EscrowError
    ├── ConfigError              a setting that is unknown or out of range; also a ValueError
    ├── ProtocolError            bytes that are not what they claim to be; also a ValueError
    │   ├── BadFrame             a remoting frame or its header
    │   ├── BadHeader            a field of a request that is missing or no such value
    │   ├── BadRecord            a commit-log record
    │   ├── BadBody              a compressed or batch body
    │   └── BadFilter            a filter expression
    ├── NotThere                 a topic, group, broker or message that nobody knows; also a LookupError
    ├── Refused                  a server's answer that is no success
    ├── SendError
    │   ├── Unsendable           a message that no broker would take; also a ValueError
    │   ├── NoQueue              a topic whose brokers take no messages now                         retriable
    │   └── SendFailed           all tries failed; a broker may have the message all the same       retriable
    ├── TransactionError
    │   ├── NoListener           a transaction that nobody could decide; also a ValueError
    │   └── PrepareFailed        half messages of which not all got through                         retriable
    ├── MissingExtra             a library that an extra of the package installs
    ├── BarrierError             a database transaction that no message may wait for
    │   ├── DatabaseRefused      a database or connection in which no barrier can stand; also a ValueError
    │   └── OutsideTransaction   a transaction that is not there, or ended too early
    ├── TransportError
    │   ├── ListenFailed         an address can't be listened on; also an OSError                   retriable
    │   ├── NotReachable         no connection, or its end before the answer; also a ConnectionError retriable
    │   ├── NoAnswer             a server that does not answer in time; also a TimeoutError         retriable
    │   └── ServerClosed         the server was closed, or is the parent process's
    └── StoreError
        ├── StoreInUse           another process, or another Store of this one, has the folder      retriable
        ├── StoreClosed          the store was closed, or is the parent process's
        ├── StorePoisoned        a flush failed; open the store again
        ├── PermissionDenied     the system refused; also a PermissionError
        ├── DiskFull             no space, or less than writes must leave                           retriable
        ├── IoFailure            any other failed file operation
        ├── UnsupportedStore     a store of a kind that we would not keep whole
        ├── ForeignFile          a file that has no business in the log or a queue
        ├── WrongSize            a file whose size is not that of its neighbours
        ├── MissingFile          a hole in a chain of files
        ├── NotALog              a log that does not begin with a record
        ├── BadConfig            a configuration file that is no JSON, nor is its backup
        ├── BadOption            an option that no store can be made with; also a ValueError
        ├── BadMessage           a message that can't be stored; also a ValueError
        ├── TopicInUse           topics that are appended to while they are deleted                 retriable
        ├── NotYetDurable        a wait ended before its event; also a TimeoutError                 retriable
        ├── NoRecord             no record begins there; also a LookupError
        ├── Damaged              a record that was whole once is not any more
        ├── QueueGap             a queue whose next entry is not the log's next
        ├── QueueConflict        a queue that names another record than the log does
        └── QueueName            a topic in the log that can't name a folder

Each class states whether the same call may succeed later unchanged (`retriable`). The message says what failed, on what
and with which values; the values are attributes too.
"""

from collections.abc import Sequence
from typing import ClassVar

__all__ = [
    "BadBody",
    "BadConfig",
    "BadFilter",
    "BadFrame",
    "BadHeader",
    "BadMessage",
    "BadOption",
    "BadRecord",
    "BarrierError",
    "ConfigError",
    "Damaged",
    "DatabaseRefused",
    "DiskFull",
    "EscrowError",
    "ForeignFile",
    "IoFailure",
    "ListenFailed",
    "MissingExtra",
    "MissingFile",
    "NoAnswer",
    "NoListener",
    "NoQueue",
    "NoRecord",
    "NotALog",
    "NotReachable",
    "NotThere",
    "NotYetDurable",
    "OutsideTransaction",
    "PermissionDenied",
    "PrepareFailed",
    "ProtocolError",
    "QueueConflict",
    "QueueGap",
    "QueueName",
    "Refused",
    "SendError",
    "SendFailed",
    "ServerClosed",
    "StoreClosed",
    "StoreError",
    "StoreInUse",
    "StorePoisoned",
    "TopicInUse",
    "TransactionError",
    "TransportError",
    "Unsendable",
    "UnsupportedStore",
    "WrongSize",
]


class EscrowError(Exception):
    """The root: everything that EscrowMQ raises on purpose, wrong argument types and values apart."""

    retriable: ClassVar[bool] = False

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        # In the instance's dictionary, facts survive pickling: a worker's error arrives whole.
        self.__dict__.update(facts)


class ConfigError(EscrowError, ValueError):
    """A setting that is unknown, of the wrong kind or out of range."""

    key: str


class ProtocolError(EscrowError, ValueError):
    """Bytes that are not what they claim to be."""


class BadFrame(ProtocolError):
    """A remoting frame, or its header, that can't be read or written."""


class BadHeader(ProtocolError):
    """A field of a request that is missing, or that does not hold what it should."""

    field: str


class BadRecord(ProtocolError):
    """Bytes that are not a commit-log record."""


class BadBody(ProtocolError):
    """A compressed or batch body that can't be read."""


class BadFilter(ProtocolError):
    """An expression that is no filter: where, and what is wrong there. The offset counts bytes of UTF-8."""

    line: int
    column: int
    offset: int
    problem: str


class NotThere(EscrowError, LookupError):
    """A topic, a group, a broker or a message that none of the servers that were asked knows."""

    kind: str
    name: str


class Refused(EscrowError):
    """A server answers a request with something else than success; the remark is the server's own."""

    address: str
    code: int
    remark: str


class SendError(EscrowError):
    """A producer could not send a message."""


class Unsendable(SendError, ValueError):
    """A message that no broker would take. Nothing was sent."""

    field: str
    found: object
    limit: int | None


class NoQueue(SendError):
    """A topic whose brokers have no queue that may be written to."""

    retriable = True
    topic: str


class SendFailed(SendError):
    """Every try to send a message failed. A broker that did not answer may have stored it all the same."""

    retriable = True
    message_id: str
    tries: int
    reasons: list[str]


class TransactionError(EscrowError):
    """A transaction could not be begun, or not be decided."""


class NoListener(TransactionError, ValueError):
    """A transaction without a listener, which nobody could decide. Nothing was sent."""


class PrepareFailed(TransactionError):
    """Half messages of which not all got through; those that did are to be rolled back."""

    retriable = True
    prepared: Sequence[object]


class MissingExtra(EscrowError):
    """A library is not installed that an extra of the package brings along."""

    extra: str


class BarrierError(EscrowError):
    """No message can wait for this database transaction."""


class DatabaseRefused(BarrierError, ValueError):
    """A database, or a connection to it, in which no barrier can stand; the reason is one word."""

    reason: str


class OutsideTransaction(BarrierError):
    """There is no database transaction, or it has ended before its message was prepared."""


class TransportError(EscrowError):
    """A server could not do what it was asked."""


class ListenFailed(TransportError, OSError):
    """An address can't be listened on: it is in use, is not this machine's, or may not be used."""

    retriable = True
    address: str
    system_error: int | None


class NotReachable(TransportError, ConnectionError):
    """A server can't be connected to, or closes the connection instead of answering."""

    retriable = True
    address: str


class NoAnswer(TransportError, TimeoutError):
    """A server does not answer in time. It may have done what it was asked all the same."""

    retriable = True
    address: str


class ServerClosed(TransportError):
    """The server was closed, or belongs to the process that this one was forked from."""


class StoreError(EscrowError):
    """A store could not do what it was asked."""


class StoreInUse(StoreError):
    """Another process, or another `Store` of this one, has the folder."""

    retriable = True
    path: str
    holder: str


class StoreClosed(StoreError):
    """The store was closed, or belongs to the process that this one was forked from."""


class StorePoisoned(StoreError):
    """A flush failed: what reached the disk is unknown, and nothing is acknowledged until the store is opened again."""

    cause: str


class PermissionDenied(StoreError, PermissionError):
    """The system refused access to a file or folder."""

    action: str
    path: str


class DiskFull(StoreError):
    """There is no space left, or less than writes must leave. The percentages are absent where the system said so."""

    retriable = True
    path: str
    used_percent: int | None
    refuse_percent: int | None


class IoFailure(StoreError):
    """A file operation failed; the store is as it was before."""

    action: str
    path: str
    system_error: int | None


class UnsupportedStore(StoreError):
    """A store of a kind that this one can't keep whole: RocksDB queues, batch queues, DLedger and the like."""

    path: str
    feature: str


class ForeignFile(StoreError):
    """A name in the log or a queue where only full-size files with 20-digit names may be."""

    path: str
    kind: str
    reason: str


class WrongSize(StoreError):
    """A file whose size is not that of its neighbours."""

    path: str
    expected: int
    found: int


class MissingFile(StoreError):
    """A file between two others is not there."""

    missing: str
    next: str


class NotALog(StoreError):
    """The first bytes of a log are not a record."""

    path: str
    reason: str


class BadConfig(StoreError):
    """A configuration file, and its backup, that are no JSON."""

    path: str
    reason: str


class BadOption(StoreError, ValueError):
    """An option that no store can be made with. Nothing was made."""

    name: str
    found: str
    expected: str


class BadMessage(StoreError, ValueError):
    """A message that can't be stored. Nothing of its batch was."""

    index: int
    field: str
    found: int | None
    limit: int | None


class TopicInUse(StoreError):
    """Topics that can't be deleted, since somebody appends to them all the time."""

    retriable = True
    topics: list[str]


class NotYetDurable(StoreError, TimeoutError):
    """A wait ended before its event. The message may still become durable: it is not lost, only not acknowledged."""

    retriable = True
    offset: int
    waited_ms: int


class NoRecord(StoreError, LookupError):
    """A position where no record begins, or none is any more, or none is yet."""

    at: int
    start: int
    end: int


class Damaged(StoreError):
    """A record that was whole once is not any more.

    Who reads another's store is told its file and queue too.
    """

    at: int
    reason: str
    path: str | None = None
    topic: str | None = None
    queue_id: int | None = None
    offset: int | None = None


class QueueGap(StoreError):
    """The log holds a record for a queue that is not the queue's next."""

    topic: str
    queue_id: int
    expected: int
    found: int
    at: int


class QueueConflict(StoreError):
    """A queue has another record at an offset than the log says."""

    topic: str
    queue_id: int
    offset: int
    kept: int
    found: int


class QueueName(StoreError):
    """A topic in the log that can't be the name of a folder, and so has no queues."""

    topic: str
    reason: str
