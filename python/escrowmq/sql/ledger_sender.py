"""Sends what the ledger wants sent, over the client that its process shares."""

from collections.abc import Sequence
from typing import Final

from escrowmq._core import Message
from escrowmq.client.options import ClientOptions
from escrowmq.client.producer.draft import draft
from escrowmq.client.producer.options import ProducerOptions
from escrowmq.client.producer.sending import Sending
from escrowmq.client.sharing import acquire, release

_CLIENT_OPTIONS: Final = ClientOptions()
_OPTIONS: Final = ProducerOptions()


class LedgerSender:
    """One producer group; to be closed."""

    def __init__(
        self, name_servers: str | Sequence[str], group: str, *, client_options: ClientOptions = _CLIENT_OPTIONS
    ) -> None:
        self._group = group
        self._client = acquire(name_servers, options=client_options)
        self._sending = Sending(self._client, _OPTIONS)

    def send(self, message: Message, /) -> object:
        """Returns when it is acknowledged.

        Raises:
            EscrowError: It is not; it may be stored all the same.
        """
        sent = draft(message, group=self._group, options=_OPTIONS)
        return self._client.run(self._sending.send(sent))

    def close(self) -> None:
        """Gives the client back."""
        release(self._client)
