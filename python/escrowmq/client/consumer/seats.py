"""Which client a consumer uses: the one that its process shares, unless that has a member of the group already.

Brokers and the other members know a member by its client's id, so two members need two clients.
"""

import threading
from collections.abc import Sequence
from typing import Final

from escrowmq.client.connection import Client
from escrowmq.client.options import ClientOptions
from escrowmq.client.sharing import acquire, release

_lock: Final = threading.Lock()
_taken: Final[set[tuple[Client, str]]] = set()


class Seat:
    """A member's place at a client, until it leaves."""

    def __init__(self, client: Client, group: str, *, is_own: bool) -> None:
        self.client: Final = client
        self._group = group
        self._is_own = is_own

    def leave(self) -> None:
        """Gives it back; a client that nobody else uses is closed."""
        if self._is_own:
            self.client.close()
            return
        with _lock:
            _taken.discard((self.client, self._group))
        release(self.client)


def take_seat(name_servers: str | Sequence[str], group: str, *, options: ClientOptions) -> Seat:
    """A place for a member of a group.

    Raises:
        ConfigError: An address is none.
    """
    client = acquire(name_servers, options=options)
    with _lock:
        if (client, group) not in _taken:
            _taken.add((client, group))
            return Seat(client, group, is_own=False)
    release(client)
    return Seat(Client(name_servers, options=options), group, is_own=True)
