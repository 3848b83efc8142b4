"""GET_KVLIST_BY_NAMESPACE (219): asks for all values of a namespace."""

from msgspec import Struct


class GetKvList(Struct, frozen=True):
    """Fields of the request."""

    namespace: str
