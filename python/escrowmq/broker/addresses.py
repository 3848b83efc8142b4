"""Where the broker listens, what address clients are told, and where name servers are."""

import ipaddress
import socket
import threading
from typing import Final

from msgspec import Struct

from escrowmq.broker_config import BrokerConfig
from escrowmq.errors import ConfigError

VIP_PORT_DISTANCE: Final = 2
"""Clients of RocketMQ may send to the listen port less two, where nothing but sends used to go."""

PORT_MAX: Final = 65_535

_EVERYWHERE: Final = ("0.0.0.0", "::")  # noqa: S104 - only compared with
_ATTEMPTS_MAX: Final = 20


class Place(Struct, frozen=True):
    """Where a broker is."""

    listen: list[str]
    host: str
    port: int
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
    return Place(listen, host, port, join(host, port), join(host, port + 1))


def name_servers(config: BrokerConfig) -> list[str]:
    """Where the name servers are that a broker of that configuration registers with.

    Raises:
        ConfigError: One of them is not HOST:PORT.
    """
    for address in config.name_servers:
        _split(address)
    return config.name_servers


def join(host: str, port: int) -> str:
    """A host and a port as one text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Resolver:
    """Looks names up on threads of their own: a name service that hangs must not hold up the broker."""

    def __init__(self) -> None:
        self._found: dict[str, str | OSError | None] = {}

    def __call__(self, address: str) -> str | None:
        """The address with its name looked up, where it has one; None while that takes time.

        Raises:
            OSError: The name is not known. Who asks again has it looked up again.
        """
        host, port = _split(address)
        if _is_literal(host):
            return address
        if address not in self._found:
            self._found[address] = None
            threading.Thread(target=self._look_up, args=(address, host, port), daemon=True).start()
        found = self._found[address]
        if found is None:
            return None
        del self._found[address]
        if isinstance(found, OSError):
            raise found
        return found

    def _look_up(self, address: str, host: str, port: int) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            # Where a name has both, servers are more often at the older kind, and this asks for one only.
            chosen = min(found, key=lambda entry: entry[0] != socket.AF_INET)
            self._found[address] = join(str(chosen[4][0]), port)
        except OSError as error:
            self._found[address] = error


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    is_port = port.isascii() and port.isdigit() and 0 < int(port) <= PORT_MAX
    if not host.strip("[]") or not is_port or (":" in host and not is_bracketed):
        raise ConfigError(f"the name server {address!r} is not HOST:PORT", key="broker.name_servers")
    return host, int(port)


def _is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


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
