"""Where the broker listens, what address clients are told, and where name servers are."""

import ipaddress
import socket
from typing import Final

from msgspec import Struct

from escrowmq.broker_config import BrokerConfig
from escrowmq.errors import ConfigError

VIP_PORT_DISTANCE: Final = 2
"""Clients of RocketMQ may send to the listen port less two, where nothing but sends used to go."""

_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - only compared with
_ATTEMPTS_MAX: Final = 20


class Place(Struct, frozen=True):
    """Where a broker is."""

    listen: list[str]
    host: str
    advertised: str
    ha: str


def choose(config: BrokerConfig) -> Place:
    """Where a broker of that configuration is; port 0 becomes one that is free.

    Raises:
        ConfigError: It listens everywhere and does not say where clients find it, or no port is free.
    """
    host = config.advertise or config.host
    if host in _EVERYWHERE:
        raise ConfigError(
            f"broker.host = {config.host!r} says where to listen, not where clients find the broker: "
            "set broker.advertise too",
            key="broker.advertise",
        )
    port = config.port or _free_port(config.host)
    listen = [join(config.host, port)]
    if port > VIP_PORT_DISTANCE:
        listen.append(join(config.host, port - VIP_PORT_DISTANCE))
    return Place(listen, host, join(host, port), join(host, port + 1))


def join(host: str, port: int) -> str:
    """A host and a port as one text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def resolve(address: str) -> str:
    """The address with its name looked up, where it has one.

    Raises:
        ValueError: It has no port.
        OSError: The name is not known.
    """
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit():
        raise ValueError(f"{address!r} is not HOST:PORT")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
        return join(str(found[0][4][0]), int(port))
    return address


def _free_port(host: str) -> int:
    """A port that is free together with its VIP port. Nobody holds them until the server does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(_ATTEMPTS_MAX):
        with socket.socket(family) as first, socket.socket(family) as second:
            first.bind((host, 0))
            port: int = first.getsockname()[1]
            try:
                second.bind((host, port - VIP_PORT_DISTANCE))
            except OSError:
                continue
            return port
    raise ConfigError("no port is free together with the one two below it", key="broker.port")
