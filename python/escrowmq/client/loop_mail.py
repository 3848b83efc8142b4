"""The mail of an event loop: it reads its replies itself, many at a time, and nobody wakes it but the epoll thread."""

import asyncio
import contextlib
from collections.abc import Callable
from weakref import WeakKeyDictionary

from escrowmq.client.mail import Mail
from escrowmq.errors import TransportError


class LoopMail(Mail):
    """Replies for one event loop; to be made in it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop
        loop.add_reader(self.replies.fileno(), self.deliver)

    def tell_late(self, settle: Callable[[object, Exception | None], None], error: TransportError) -> None:
        """Late answers are told of by another thread."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(settle, None, error)

    def close(self) -> None:
        """The loop looks once more and then no longer. A loop that was closed does not look any more."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self.deliver()
        self._loop.remove_reader(self.replies.fileno())


class LoopMails:
    """The mails of the event loops that use one client."""

    def __init__(self) -> None:
        self._mails: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopMail] = WeakKeyDictionary()

    def of(self, loop: asyncio.AbstractEventLoop) -> LoopMail:
        """The mail of a loop, which runs now."""
        mail = self._mails.get(loop)
        if mail is None:
            mail = self._mails[loop] = LoopMail(loop)
        return mail

    def close(self) -> None:
        """Ends all of them."""
        for mail in list(self._mails.values()):
            mail.close()
