"""Single messages: sent, and found by id, key or offset. Queues are read in `reading`."""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from escrowmq._core import Record, Response, decode_records
from escrowmq.admin import requests
from escrowmq.admin.client import Admin, expect, reading_address
from escrowmq.errors import BadBody, NotThere, Refused
from escrowmq.model import names
from escrowmq.model.message_id import UniqueIds, log_offset_of, store_host_of
from escrowmq.model.route import MASTER_ID, TopicRouteData
from escrowmq.model.topic import Permission
from escrowmq.protocol import properties as property_names
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.query_message import QueryMessage
from escrowmq.protocol.headers.send_message import SendAnswer
from escrowmq.protocol.headers.view_message import ViewMessage
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode
from escrowmq.protocol.response_codes import ResponseCode

PRODUCER_GROUP: Final = "TOOLS_PRODUCER"
TIME_MAX_MS: Final = 2**63 - 1
_INDEX_TIME_MS: Final = 1_000
FOUND_MAX: Final = 64
"""As many as a broker answers with at a time."""


class SentMessage(Struct, frozen=True, kw_only=True):
    """Where a message is that was sent."""

    topic: str
    message_id: str
    offset_id: str
    broker: str
    queue_id: int
    queue_offset: int


class FoundMessage(Struct, frozen=True, kw_only=True):
    """A message as a broker has it. A body that can't be decompressed is as it is stored."""

    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    log_offset: int
    message_id: str
    offset_id: str
    tags: str | None
    keys: list[str]
    properties: dict[str, str]
    body: bytes
    born_at_ms: int
    born_host: str
    stored_at_ms: int
    store_host: str
    reconsume_times: int


def send_message(
    admin: Admin, topic: str, body: bytes, *, properties: Mapping[str, str], broker: str | None, queue_id: int | None
) -> SentMessage:
    """Sends a message to a broker that takes it; unless they are given, that one chooses the queue.

    Raises:
        NotThere: There is no such topic, or no broker that may be sent to.
        Refused: The broker does not want it.
    """
    name, address = _writable(admin.route(topic), topic, broker)
    unique_id = _unique_id()
    question = requests.send(
        topic,
        body,
        group=PRODUCER_GROUP,
        queue_id=requests.ANY_QUEUE if queue_id is None else queue_id,
        properties={property_names.UNIQUE_KEY: unique_id, **properties},
    )
    answer = decode_header(SendAnswer, admin.ask(address, question).ext_fields)
    return SentMessage(
        topic=topic,
        message_id=unique_id,
        offset_id=answer.message_id,
        broker=name,
        queue_id=answer.queue_id,
        queue_offset=answer.queue_offset,
    )


def find_by_id(admin: Admin, message_id: str, *, topic: str | None) -> list[FoundMessage]:
    """The message of an id: of the one that a producer gives, for which the topic is needed, or of a broker's.

    Raises:
        NotThere: There is none.
    """
    found = [] if topic is None else find_by_key(admin, topic, message_id, is_unique=True)
    found = found or _view(admin, message_id)
    if not found:
        raise NotThere(f"there is no message {message_id}", kind="message", name=message_id)
    return found


def find_by_key(
    admin: Admin,
    topic: str,
    key: str,
    *,
    is_unique: bool = False,
    begin_ms: int = 0,
    end_ms: int = TIME_MAX_MS,
    count_max: int = FOUND_MAX,
) -> list[FoundMessage]:
    """The newest messages of a topic with a key, oldest first. A unique key is the id that a producer gives.

    Raises:
        NotThere: There is no such topic.
    """
    header = QueryMessage(
        topic=topic,
        key=key,
        count_max=min(count_max, FOUND_MAX),
        # The index goes by whole seconds, which end before the message came.
        begin_ms=max(0, begin_ms - _INDEX_TIME_MS),
        end_ms=end_ms,
        unique="true" if is_unique else "",
    )
    brokers = {broker.name: reading_address(broker) for broker in admin.route(topic).brokers}
    outcomes = admin.ask_all(
        ((address, Question(RequestCode.QUERY_MESSAGE, header)) for address in brokers.values()),
        accepted=(ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND),
    )
    found = [
        found_message(record, broker)
        for broker, outcome in zip(brokers, outcomes, strict=True)
        for record in records_of(expect(outcome))
        # The index goes by hashes, and the broker leaves it to who asks to look at the key itself.
        if _has_key(record, key, is_unique=is_unique) and begin_ms <= record.store_timestamp_ms <= end_ms
    ]
    return sorted(found, key=lambda message: message.stored_at_ms)[-count_max:]


def find_by_offset(admin: Admin, topic: str, queue_id: int, offset: int, *, broker: str | None) -> FoundMessage:
    """The message at an offset of a queue.

    Raises:
        NotThere: There is no such topic or broker, or no message.
    """
    brokers = {data.name: reading_address(data) for data in admin.route(topic).brokers if broker in (None, data.name)}
    question = requests.pull(topic, queue_id, offset, group=names.TOOLS_GROUP, count_max=1)
    for name, address in brokers.items():
        answer = admin.ask(address, question, accepted=PULLED)
        for record in records_of(answer):
            if record.queue_offset == offset:
                return found_message(record, name)
    place = f"queue {queue_id} of {topic!r}" + ("" if broker is None else f" on {broker!r}")
    raise NotThere(f"there is no message at offset {offset} in {place}", kind="message", name=str(offset))


PULLED: Final = (
    ResponseCode.SUCCESS,
    ResponseCode.PULL_NOT_FOUND,
    ResponseCode.PULL_RETRY_IMMEDIATELY,
    ResponseCode.PULL_OFFSET_MOVED,
)
"""What a pull is answered with, message or not."""


def records_of(answer: Response) -> Sequence[Record]:
    """The messages of an answer."""
    return decode_records(answer.body) if answer.code == ResponseCode.SUCCESS and answer.body else ()


def found_message(record: Record, broker: str) -> FoundMessage:
    """A record as a value of its own."""
    properties = record.properties
    return FoundMessage(
        topic=record.topic,
        broker=broker,
        queue_id=record.queue_id,
        queue_offset=record.queue_offset,
        log_offset=record.log_offset,
        message_id=record.unique_id or record.offset_message_id,
        offset_id=record.offset_message_id,
        tags=properties.get(property_names.TAGS),
        keys=properties.get(property_names.KEYS, "").split(),
        properties=properties,
        body=_body(record),
        born_at_ms=record.born_timestamp_ms,
        born_host=record.born_host,
        stored_at_ms=record.store_timestamp_ms,
        store_host=record.store_host,
        reconsume_times=record.reconsume_times,
    )


def _body(record: Record) -> bytes:
    try:
        return record.decoded_body()
    except BadBody:
        return bytes(record.body)


def _has_key(record: Record, key: str, *, is_unique: bool) -> bool:
    if is_unique:
        return record.unique_id == key
    return key in (record.find_property(property_names.KEYS) or "").split()


def _writable(route: TopicRouteData, topic: str, broker: str | None) -> tuple[str, str]:
    """Name and address of a broker that takes messages of a topic."""
    writable = {queues.broker_name for queues in route.queues if queues.permissions & Permission.WRITE}
    for data in route.brokers:
        if data.has_master and data.name in writable and broker in (None, data.name, data.addresses[MASTER_ID]):
            return data.name, data.addresses[MASTER_ID]
    who = "no broker" if broker is None else f"the broker {broker!r} not"
    raise NotThere(f"{topic!r} may be sent to {who}", kind="broker", name=broker or "")


def _view(admin: Admin, message_id: str) -> list[FoundMessage]:
    """The message of a broker's id, if the id is one of a broker that is there."""
    try:
        host, log_offset = store_host_of(message_id), log_offset_of(message_id)
    except ValueError:
        return []
    for data in admin.cluster_info().brokers.values():
        if host in data.addresses.values():
            try:
                answer = admin.ask(host, Question(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessage(log_offset)))
            except Refused as error:
                # That is how brokers say that no message begins there.
                if error.code != ResponseCode.SYSTEM_ERROR:
                    raise
                return []
            return [found_message(record, data.name) for record in records_of(answer)]
    return []


def _unique_id() -> str:
    ids = UniqueIds("127.0.0.1:0", process_id=os.getpid(), maker=secrets.randbits(32))
    return ids.next(wall_ms=time.time_ns() // 1_000_000)
