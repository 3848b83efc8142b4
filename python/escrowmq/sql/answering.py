"""What a producer answers when a broker asks what became of a half message. Nobody has to write a checker."""

import logging
from collections.abc import Mapping
from typing import Final

from escrowmq.protocol.properties import BARRIER, BARRIER_DATABASE
from escrowmq.sql.crossing import probe
from escrowmq.sql.databases import Databases
from escrowmq.sql.values import BarrierKey, Verdict

_LOG: Final = logging.getLogger("escrowmq.sql")


def answer(databases: Databases, group: str, properties: Mapping[str, str]) -> Verdict:
    """The verdict; of a message that is not ours, or from a database that we do not have, nobody here knows any."""
    id_, database_id = properties.get(BARRIER), properties.get(BARRIER_DATABASE)
    database = databases.with_id(database_id) if id_ and database_id else None
    if id_ is None or database is None:
        _LOG.warning("a broker asks about %s of database %s, which is not here", id_, database_id)
        return Verdict.UNKNOWN
    verdict = probe(database, BarrierKey(id_, database.id, group))
    _LOG.info("a broker asked about %s: %s", id_, verdict.value)
    return verdict
