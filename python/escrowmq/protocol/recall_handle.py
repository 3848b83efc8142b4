"""The handle by which a producer takes a message back: URL-safe Base64 of `v1 topic broker time id`."""

import base64
import binascii
from typing import Final

from msgspec import Struct

_VERSION: Final = "v1"
_WORDS: Final = 5


class RecallHandle(Struct, frozen=True):
    """Which message it is; the time is that of its slot and a millisecond."""

    topic: str
    broker_name: str
    time_ms: str
    message_id: str

    def encode(self) -> str:
        """The handle as producers keep it."""
        text = " ".join((_VERSION, self.topic, self.broker_name, self.time_ms, self.message_id))
        return base64.urlsafe_b64encode(text.encode()).decode()


def decode_recall_handle(text: str) -> RecallHandle | None:
    """What a handle says; None if it is none. Compat: padding may be missing, and what follows the id is skipped."""
    try:
        words = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode().split(" ")
    except (binascii.Error, ValueError):
        return None
    return RecallHandle(*words[1:_WORDS]) if words[0] == _VERSION and len(words) >= _WORDS else None
