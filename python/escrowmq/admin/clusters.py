"""Brokers and name servers: who is there, how they are, what they are set to."""

from collections.abc import Mapping

from msgspec import Struct

from escrowmq._core import Response
from escrowmq.admin.client import Admin, Outcome
from escrowmq.config import decode_properties, encode_properties
from escrowmq.errors import TransportError
from escrowmq.protocol.bodies.kv_table import decode_kv_table
from escrowmq.protocol.headers.add_write_permission import AddWritePermission, AddWritePermissionAnswer
from escrowmq.protocol.headers.decoding import decode_header
from escrowmq.protocol.headers.wipe_write_permission import WipeWritePermission, WipeWritePermissionAnswer
from escrowmq.protocol.question import Question
from escrowmq.protocol.request_codes import RequestCode


class BrokerState(Struct, frozen=True, kw_only=True):
    """A broker. What it does not tell is None: `problem` says why, where it does not answer at all."""

    cluster: str
    broker: str
    id: int
    address: str
    version: str | None
    messages_in_per_s: float | None
    messages_out_per_s: float | None
    disk_used_ratio: float | None
    problem: str | None


def list_brokers(admin: Admin) -> list[BrokerState]:
    """All brokers, slaves too."""
    brokers = [
        (data.cluster, data.name, broker_id, address)
        for data in admin.cluster_info().brokers.values()
        for broker_id, address in data.addresses.items()
    ]
    brokers.sort()
    outcomes = admin.ask_all((address, Question(RequestCode.GET_BROKER_RUNTIME_INFO)) for *_, address in brokers)
    return [_state(*broker, outcome) for broker, outcome in zip(brokers, outcomes, strict=True)]


def broker_status(admin: Admin, address: str) -> dict[str, str]:
    """What a broker tells of itself, in its own words.

    Raises:
        Refused: It does not tell.
    """
    answer = admin.ask(address, Question(RequestCode.GET_BROKER_RUNTIME_INFO))
    return dict(sorted(decode_kv_table(answer.body).items()))


def broker_settings(admin: Admin, address: str) -> dict[str, str]:
    """The settings of a broker, by RocketMQ's names."""
    return decode_properties(bytes(admin.ask(address, Question(RequestCode.GET_BROKER_CONFIG)).body))


def change_broker_settings(admin: Admin, address: str, changes: Mapping[str, str]) -> None:
    """Changes settings of a broker while it runs.

    Raises:
        Refused: One of them can't be changed, or not to this.
    """
    admin.ask(address, Question(RequestCode.UPDATE_BROKER_CONFIG, body=encode_properties(changes)))


def name_server_settings(admin: Admin) -> dict[str, dict[str, str]]:
    """The settings of each name server, by its address."""
    answers = admin.tell_name_servers(Question(RequestCode.GET_NAMESRV_CONFIG))
    settings = (decode_properties(bytes(answer.body)) for answer in answers)
    return dict(zip(admin.name_servers, settings, strict=True))


def change_name_server_settings(admin: Admin, changes: Mapping[str, str]) -> None:
    """Changes settings of all name servers while they run.

    Raises:
        Refused: One of them can't be changed, or not to this.
    """
    admin.tell_name_servers(Question(RequestCode.UPDATE_NAMESRV_CONFIG, body=encode_properties(changes)))


def forbid_writes(admin: Admin, broker: str) -> int:
    """Has name servers tell producers that nothing may be sent to a broker; how many topics that concerns."""
    question = Question(RequestCode.WIPE_WRITE_PERM_OF_BROKER, WipeWritePermission(broker))
    answers = admin.tell_name_servers(question)
    return max(decode_header(WipeWritePermissionAnswer, answer.ext_fields).topics for answer in answers)


def allow_writes(admin: Admin, broker: str) -> int:
    """Has name servers tell producers that a broker may be sent to again; how many topics that concerns."""
    question = Question(RequestCode.ADD_WRITE_PERM_OF_BROKER, AddWritePermission(broker))
    answers = admin.tell_name_servers(question)
    return max(decode_header(AddWritePermissionAnswer, answer.ext_fields).topics for answer in answers)


def _state(cluster: str, broker: str, broker_id: int, address: str, outcome: Outcome) -> BrokerState:
    # A broker that refuses to tell is there all the same.
    told = decode_kv_table(outcome.body) if isinstance(outcome, Response) else {}
    return BrokerState(
        cluster=cluster,
        broker=broker,
        id=broker_id,
        address=address,
        version=told.get("brokerVersionDesc"),
        messages_in_per_s=_first_number(told.get("putTps")),
        messages_out_per_s=_first_number(told.get("getTransferredTps")),
        disk_used_ratio=_first_number(told.get("commitLogDiskRatio")),
        problem=str(outcome) if isinstance(outcome, TransportError) else None,
    )


def _first_number(text: str | None) -> float | None:
    """Brokers tell rates of the last seconds, minute and ten minutes, in this order and in one text."""
    try:
        return float((text or "").split()[0])
    except (IndexError, ValueError):
        return None
