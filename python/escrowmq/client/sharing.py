"""Which clients a process has: shared by who asks the same name servers in the same way, closed with the last."""

import threading
from collections.abc import Sequence
from typing import Final

from escrowmq.client.connection import Client
from escrowmq.client.identity import name_server_list
from escrowmq.client.lifetimes import when_forked
from escrowmq.client.options import DEFAULTS, ClientOptions

_Key = tuple[tuple[str, ...], ClientOptions]


class _Shared:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.clients: dict[_Key, Client] = {}
        self.users: dict[Client, int] = {}


_shared: Final = _Shared()


def acquire(name_servers: str | Sequence[str], *, options: ClientOptions = DEFAULTS) -> Client:
    """The client of these name servers and options; to be given back with `release`.

    Raises:
        ConfigError: An address is none.
    """
    key = (name_server_list(name_servers), options)
    with _shared.lock:
        client = _shared.clients.get(key)
        if client is None or client.is_closed:
            client = _shared.clients[key] = Client(name_servers, options=options)
        _shared.users[client] = _shared.users.get(client, 0) + 1
        return client


def release(client: Client) -> None:
    """Gives a client back; the last one closes it."""
    with _shared.lock:
        left = _shared.users.get(client, 0) - 1
        if left > 0:
            _shared.users[client] = left
            return
        _shared.users.pop(client, None)
        _shared.clients = {key: each for key, each in _shared.clients.items() if each is not client}
    client.close()


def _forget_parent() -> None:
    """Whoever had the lock may not be there to give it back."""
    _shared.lock = threading.Lock()


when_forked(_forget_parent)
