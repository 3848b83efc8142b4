"""The body that answers GET_KVLIST_BY_NAMESPACE and, with the order topics, REGISTER_BROKER."""

from collections.abc import Mapping

from msgspec import Struct

from escrowmq.protocol import fastjson


class KvTable(Struct, frozen=True):
    """The values of a namespace."""

    table: dict[str, str] | None = None


def encode_kv_table(values: Mapping[str, str]) -> bytes:
    """The values of a namespace as JSON."""
    return fastjson.encode_strict({"table": values})


def decode_kv_table(body: bytes | memoryview) -> dict[str, str]:
    """Reads the values of a namespace.

    Raises:
        BadBody: They are none.
    """
    return fastjson.decode(body, KvTable).table or {}
