"""A broker in the test's own process: for pytest the fixture `escrowmq_broker`, for everything else `LocalBroker`.

    with LocalBroker() as broker:
        my_service.start(name_server=broker.name_server)
        ...
        assert [message.body for message in broker.messages("orders")] == [b"debit 10"]

Names are loaded when they are asked for: pytest loads every plugin that is installed, wanted or not.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from escrowmq.testing.local_broker import LocalBroker, LocalClock
    from escrowmq.testing.stored_message import StoredMessage

__all__ = ["LocalBroker", "LocalClock", "StoredMessage"]


def __getattr__(name: str) -> object:
    if name in {"LocalBroker", "LocalClock"}:
        from escrowmq.testing import local_broker  # noqa: PLC0415 - see above

        return getattr(local_broker, name)
    if name == "StoredMessage":
        from escrowmq.testing.stored_message import StoredMessage  # noqa: PLC0415 - see above

        return StoredMessage
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
