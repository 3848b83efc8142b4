"""`@idempotent`: a handler that runs once per message, in a database transaction of its own.

    @idempotent(Session, group="billing")
    def bill(session: Session, message: ReceivedMessage) -> None:
        session.add(Invoice(...))

    PushConsumer("127.0.0.1:9876", "billing", on_message=bill)

A row with the message's key is inserted in the same transaction. Whoever comes second finds it: the message is dropped
and acknowledged, and, if its producer keeps a ledger, confirmed once more, since that has not heard of it. A handler
that raises, or wants the message later, leaves no row.
"""

import functools
from collections.abc import Callable
from typing import Final, TypeAlias

from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from escrowmq.client.consumer.received import ReceivedMessage
from escrowmq.client.consumer.retry_rules import Consumed
from escrowmq.sql.ledger_tables import CONSUMED, now_ms

LEDGER_ID: Final = "ESCROWMQ_LEDGER_ID"
"""The property that names a message's row in its producer's ledger, however often it is sent."""

CONFIRM_TOPIC: Final = "ESCROWMQ_CONFIRM_TOPIC"
"""The property that says where that producer waits to hear of it."""

SessionFactory: TypeAlias = Callable[[], Session]
Handler: TypeAlias = Callable[[Session, ReceivedMessage], Consumed | None]


def message_key(message: ReceivedMessage) -> str:
    """What stays the same when a message comes again: its place in a ledger, else its producer's id of it."""
    return message.find_property(LEDGER_ID) or message.message_id


def idempotent(
    session_factory: SessionFactory,
    *,
    group: str = "",
    key: Callable[[ReceivedMessage], str] = message_key,
) -> Callable[[Handler], Callable[[ReceivedMessage], Consumed | None]]:
    """Makes a handler of one message out of a function of a session and a message.

    Args:
        session_factory: Makes a session; its transaction is begun and committed here.
        group: The consumer group; two groups in one database handle a message each.
        key: What tells messages apart.
    """

    def decorate(handler: Handler) -> Callable[[ReceivedMessage], Consumed | None]:
        @functools.wraps(handler)
        def handle(message: ReceivedMessage) -> Consumed | None:
            own_key = key(message)
            with session_factory() as session:
                if not _is_first(session, group, own_key, message):
                    session.rollback()
                    _confirm_again(session, group, own_key)
                    session.commit()
                    return Consumed.SUCCESS
                said = handler(session, message)
                if said is Consumed.RECONSUME_LATER:
                    session.rollback()
                else:
                    session.commit()
                return said

        return handle

    return decorate


def _is_first(session: Session, group: str, key: str, message: ReceivedMessage) -> bool:
    """Inserts the row. Who comes second while the first is at work waits for what becomes of that."""
    confirm_topic = message.find_property(CONFIRM_TOPIC) or ""
    row = CONSUMED.insert().values(
        consumer_group=group,
        message_key=key,
        confirm_topic=confirm_topic,
        is_reported=0 if confirm_topic else 1,
        update_time_ms=now_ms(),
    )
    try:
        session.execute(row)
    except IntegrityError:
        return False
    return True


def _confirm_again(session: Session, group: str, key: str) -> None:
    """A message that comes again was not confirmed, as far as its producer knows."""
    is_it = (CONSUMED.c.consumer_group == group) & (CONSUMED.c.message_key == key) & (CONSUMED.c.confirm_topic != "")
    session.execute(update(CONSUMED).where(is_it).values(is_reported=0, update_time_ms=now_ms()))
