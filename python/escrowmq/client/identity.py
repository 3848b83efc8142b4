"""Who a client is to servers: its id, new in every process, and how addresses are written."""

import os
import socket
import time
from collections.abc import Sequence
from typing import Final

from escrowmq.errors import ConfigError, NotReachable
from escrowmq.protocol.addresses import look_up

_LOOPBACK: Final = "127.0.0.1"


def make_client_id(name_server: str, *, unit: str) -> str:
    """An id as RocketMQ's clients make it: `address@process#nanoseconds`, and the unit behind it."""
    name = f"{own_address(name_server)}@{os.getpid()}#{time.monotonic_ns()}"
    return f"{name}@{unit}" if unit else name


def own_address(server: str) -> str:
    """The address of this machine towards a server; loopback where there is no way to it."""
    try:
        host, port = split_address(look_up(server))
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # A datagram socket that is connected sends nothing: the kernel only chooses the way.
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((host, port))
            return str(probe.getsockname()[0])
    except (OSError, NotReachable):
        return _LOOPBACK


def name_server_list(name_servers: str | Sequence[str]) -> tuple[str, ...]:
    """Addresses of name servers, given one by one or in a text with `;` between them.

    Raises:
        ConfigError: There is none, or one is no `HOST:PORT`.
    """
    given = name_servers.split(";") if isinstance(name_servers, str) else name_servers
    addresses = tuple(address.strip() for address in given if address.strip())
    if not addresses:
        raise ConfigError("there is no name server to ask", key="name_servers")
    for address in addresses:
        split_address(address)
    return addresses


def split_address(address: str) -> tuple[str, int]:
    """Host and port.

    Raises:
        ConfigError: It has none.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ConfigError(f"{address!r} is no address, as HOST:PORT", key="name_servers")
    return host.strip("[]"), int(port)


def is_numeric(address: str) -> bool:
    """Whether there is no name in it to be looked up."""
    host = address.rpartition(":")[0].strip("[]")
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return True
    return False
