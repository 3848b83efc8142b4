"""A consumer's side of the ledger: reports what it has consumed to those who wait to hear of it."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

import msgspec
from sqlalchemy import Row, Select, func, select, update
from sqlalchemy.engine import Engine

from escrowmq._core import Message
from escrowmq.errors import BadBody
from escrowmq.sql.ledger_tables import CONSUMED, now_ms, read_state, write_state
from escrowmq.sql.ledger_values import ConsumedStatus, LedgerOptions, Sender

_OPTIONS: Final = LedgerOptions()
_LAST_CHECK: Final = "last_check:"


class ConsumedLedger:
    """What one group has consumed, in its database."""

    def __init__(self, engine: Engine, group: str, *, options: LedgerOptions = _OPTIONS) -> None:
        """Makes it; the tables are there: see `create_ledger`."""
        self._engine = engine
        self._group = group
        self._options = options

    def report(self, sender: Sender) -> int:
        """Reports what was consumed since the last time and is not reported; the first time, everything. How many.

        What is acknowledged is not reported again. It goes back by as long as a transaction may take: a row bears the
        time at which it was written, and is seen when its transaction is committed.

        Raises:
            EscrowError: A report is not acknowledged; what is in it is reported the next time.
        """
        count = 0
        while True:
            with self._engine.connect() as connection:
                checked_ms = int(connection.execute(select(now_ms())).scalar_one())
                rows = list(connection.execute(self._unreported(read_state(connection, self._state_name))))
            for topic, group in groupby(rows, key=lambda row: str(row.confirm_topic)):
                reported = list(group)
                sender.send(Message(topic, encode_report([str(row.message_key) for row in reported])))
                self._mark(reported)
                count += len(reported)
            if len(rows) < self._options.batch_max:
                break
        with self._engine.begin() as connection:
            write_state(connection, self._state_name, checked_ms)
        return count

    def status(self) -> ConsumedStatus:
        """How it stands."""
        is_own = CONSUMED.c.consumer_group == self._group
        with self._engine.connect() as connection:
            consumed = connection.execute(select(func.count()).where(is_own)).scalar_one()
            unreported = connection.execute(select(func.count()).where(is_own & (CONSUMED.c.is_reported == 0)))
            return ConsumedStatus(
                group=self._group,
                consumed=int(consumed),
                unreported=int(unreported.scalar_one()),
                last_check_ms=read_state(connection, self._state_name),
            )

    @property
    def _state_name(self) -> str:
        return _LAST_CHECK + self._group

    def _unreported(self, last_check_ms: int | None) -> Select[tuple[str, str, int]]:
        is_open = (CONSUMED.c.consumer_group == self._group) & (CONSUMED.c.is_reported == 0)
        if last_check_ms is not None:
            is_open &= CONSUMED.c.update_time_ms > last_check_ms - round(self._options.longest_transaction_s * 1_000)
        columns = (CONSUMED.c.message_key, CONSUMED.c.confirm_topic, CONSUMED.c.update_time_ms)
        return select(*columns).where(is_open).order_by(CONSUMED.c.confirm_topic).limit(self._options.batch_max)

    def _mark(self, rows: Sequence[Row[tuple[str, str, int]]]) -> None:
        """Marks what was acknowledged, unless the message came again meanwhile and is to be confirmed again."""
        with self._engine.begin() as connection:
            for row in rows:
                is_same = (
                    (CONSUMED.c.consumer_group == self._group)
                    & (CONSUMED.c.message_key == row.message_key)
                    & (CONSUMED.c.update_time_ms == row.update_time_ms)
                )
                connection.execute(update(CONSUMED).where(is_same).values(is_reported=1))


def encode_report(keys: Sequence[str]) -> bytes:
    """The body of a report."""
    return msgspec.json.encode(list(keys))


def decode_report(body: bytes) -> list[str]:
    """Reads the body of a report.

    Raises:
        BadBody: It is none.
    """
    try:
        return msgspec.json.decode(body, type=list[str])
    except msgspec.DecodeError as error:
        raise BadBody(f"the body is no report of what was consumed: {error}") from error
