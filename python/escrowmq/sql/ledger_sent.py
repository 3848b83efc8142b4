"""The producer's side of the ledger: what was sent, what is confirmed, and what has to be sent again.

record ──▶ unconfirmed ──confirm──▶ confirmed
│      ▲
└──────┘ overdue: sent again, and its time moved
"""

import uuid
from collections.abc import Collection, Mapping
from typing import Final

import msgspec
from sqlalchemy import Row, func, select, update
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.orm import Session

from escrowmq._core import Message
from escrowmq.sql.idempotent import CONFIRM_TOPIC, LEDGER_ID
from escrowmq.sql.ledger_tables import SENT, now_ms, read_state, write_state
from escrowmq.sql.ledger_values import LedgerOptions, Sender, SentStatus

_OPTIONS: Final = LedgerOptions()
_CIRCLE: Final = "average_circle"
# A new measurement counts for this part of the average.
_SHARE: Final = 8


class SentLedger:
    """The ledger of one producer, in its database."""

    def __init__(self, engine: Engine, confirm_topic: str, *, options: LedgerOptions = _OPTIONS) -> None:
        """Makes it; the tables are there: see `create_ledger`.

        Args:
            engine: The producer's database.
            confirm_topic: Where consumers report what they have consumed.
            options: How it is kept.
        """
        self._engine = engine
        self._options = options
        self.confirm_topic: Final = confirm_topic

    def record(
        self, session: Session | Connection, topic: str, body: bytes, *, properties: Mapping[str, str] | None = None
    ) -> Message:
        """Writes a message down in the transaction of the business change; what it returns is to be sent.

        Sent once the transaction is committed, or by an escrow. If that never happens, it is sent later from here.
        """
        ledger_id = uuid.uuid4().hex
        named = {**(properties or {}), LEDGER_ID: ledger_id, CONFIRM_TOPIC: self.confirm_topic}
        session.execute(
            SENT.insert().values(
                id=ledger_id,
                topic=topic,
                body=body,
                properties=msgspec.json.encode(named).decode(),
                consumer_confirm=0,
                update_time_ms=now_ms(),
                sends=1,
            )
        )
        return Message(topic, body, properties=named)

    def confirm(self, ledger_ids: Collection[str]) -> int:
        """Consumers have these; how many of them were not confirmed before."""
        with self._engine.begin() as connection:
            is_new = SENT.c.id.in_(list(ledger_ids)) & (SENT.c.consumer_confirm == 0)
            # Of one that was sent again nobody knows which sending was confirmed.
            measured = select(func.avg(now_ms() - SENT.c.update_time_ms)).where(is_new & (SENT.c.sends == 1))
            circle_ms = connection.execute(measured).scalar()
            confirmed = connection.execute(update(SENT).where(is_new).values(consumer_confirm=1)).rowcount
            if circle_ms is not None:
                before = read_state(connection, _CIRCLE)
                value = int(circle_ms) if before is None else before + (int(circle_ms) - before) // _SHARE
                write_state(connection, _CIRCLE, value)
        return confirmed

    def send_overdue(self, sender: Sender) -> int:
        """Sends again what should have been confirmed by now; how many messages.

        Raises:
            EscrowError: A message can't be sent; it and the others are tried again when they are due the next time.
        """
        count = 0
        with self._engine.connect() as connection:
            begin_ms = int(connection.execute(select(now_ms())).scalar_one())
        while rows := self._overdue(begin_ms):
            for row in rows:
                if self._move(row):
                    sender.send(Message(row.topic, row.body, properties=msgspec.json.decode(row.properties)))
                    count += 1
            if len(rows) < self._options.batch_max:
                break
        return count

    def status(self) -> SentStatus:
        """How it stands."""
        with self._engine.connect() as connection:
            counts = {
                int(row[0]): row
                for row in connection.execute(
                    select(
                        SENT.c.consumer_confirm,
                        func.count(),
                        func.sum(SENT.c.sends - 1),
                        now_ms() - func.min(SENT.c.update_time_ms),
                    ).group_by(SENT.c.consumer_confirm)
                )
            }
            average_ms = read_state(connection, _CIRCLE)
        return SentStatus(
            confirmed=int(counts[1][1]) if 1 in counts else 0,
            unconfirmed=int(counts[0][1]) if 0 in counts else 0,
            sent_again=sum(int(row[2]) for row in counts.values()),
            average_circle_ms=average_ms,
            oldest_unconfirmed_ms=int(counts[0][3]) if 0 in counts else None,
        )

    def _overdue(self, begin_ms: int) -> list[Row[tuple[object, ...]]]:
        with self._engine.connect() as connection:
            average_ms = read_state(connection, _CIRCLE) or 0
            patience_ms = round(max(self._options.circle_min_s * 1_000, average_ms * self._options.circle_factor))
            is_overdue = (SENT.c.consumer_confirm == 0) & (SENT.c.update_time_ms + patience_ms <= begin_ms)
            query = select(SENT).where(is_overdue).order_by(SENT.c.update_time_ms).limit(self._options.batch_max)
            return list(connection.execute(query))

    def _move(self, row: Row[tuple[object, ...]]) -> bool:
        """Moves a row's time before its message is sent: of several that look at it, one sends."""
        is_unchanged = (
            (SENT.c.id == row.id) & (SENT.c.consumer_confirm == 0) & (SENT.c.update_time_ms == row.update_time_ms)
        )
        moved = update(SENT).where(is_unchanged).values(update_time_ms=now_ms(), sends=SENT.c.sends + 1)
        with self._engine.begin() as connection:
            return connection.execute(moved).rowcount == 1
