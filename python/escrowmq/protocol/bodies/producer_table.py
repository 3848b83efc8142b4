"""The body that answers GET_ALL_PRODUCER_INFO: the producers of all groups."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from escrowmq.protocol import fastjson


class Producer(Struct, frozen=True):
    """A producer, and when it was last heard of. Fields stand in the order in which Java writes them."""

    client_id: str = field(name="clientId")
    language: str
    last_seen_ms: int = field(name="lastUpdateTimestamp")
    address: str = field(name="remoteIP")
    version: int


def encode_producer_table(groups: Mapping[str, Sequence[Producer]]) -> bytes:
    """Producers by group."""
    return fastjson.encode_strict({"data": groups})
