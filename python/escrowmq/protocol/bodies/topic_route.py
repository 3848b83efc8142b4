"""The body that answers GET_ROUTEINFO_BY_TOPIC, in the JSON that the client reads."""

from escrowmq.model.route import TopicRouteData
from escrowmq.protocol import fastjson
from escrowmq.protocol.versions import STRICT_JSON_ROUTES


def encode_topic_route(route: TopicRouteData, *, version: int, accepts_strict_json_only: bool) -> bytes:
    """Writes a route for a client of a version.

    Compat: older Java clients read either form, but clients in other languages that were written against older name
    servers know only unquoted broker ids.
    """
    if version >= STRICT_JSON_ROUTES or accepts_strict_json_only:
        return fastjson.encode_strict(route)
    return fastjson.encode(route)


def decode_topic_route(body: bytes | memoryview) -> TopicRouteData:
    """Reads a route, written either way.

    Raises:
        BadBody: The body is no route.
    """
    return fastjson.decode(body, TopicRouteData)
