"""The body that answers GET_CONSUMER_LIST_BY_GROUP: the members among whom clients divide the queues."""

from collections.abc import Sequence

from msgspec import Struct, field

from escrowmq.protocol import fastjson


def encode_consumer_list(client_ids: Sequence[str]) -> bytes:
    """The ids of a group's members."""
    return fastjson.encode_strict({"consumerIdList": client_ids})


class _ConsumerList(Struct, frozen=True):
    client_ids: list[str] = field(default_factory=list, name="consumerIdList")


def decode_consumer_list(body: bytes | memoryview) -> list[str]:
    """Reads the ids of a group's members.

    Raises:
        BadBody: They are none.
    """
    return fastjson.decode(body, _ConsumerList).client_ids
