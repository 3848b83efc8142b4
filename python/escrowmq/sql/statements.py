"""What the barrier says to a database: the tables of each dialect and the statements, with `?` where a value goes.

`escrowmq_barrier` has a row for each transaction that a message waits for. `escrowmq_barrier_state` has what is true of
the whole database: its id, and for each producer group the bound below which rows may be gone and the topics that it
has sent to. Of these the user's transactions write topics only, each once, so that they do not wait for each other.
"""

from typing import Final

DATABASE: Final = "database"
SWEPT: Final = "swept:"
TOPIC: Final = "topic:"

INSERT: Final = (
    "INSERT INTO escrowmq_barrier (id, database_id, producer_group, decision) "
    "SELECT ?, value, ?, 'C' FROM escrowmq_barrier_state WHERE name = 'database' AND value = ?"
)
"""Counts 0 where this is another database than the one whose id the messages will carry."""
DELETE: Final = "DELETE FROM escrowmq_barrier WHERE id = ?"
READ: Final = "SELECT decision, database_id FROM escrowmq_barrier WHERE id = ?"
READ_STATE: Final = "SELECT value FROM escrowmq_barrier_state WHERE name = ?"
INSERT_STATE: Final = "INSERT INTO escrowmq_barrier_state (name, value) VALUES (?, ?)"
UPDATE_STATE: Final = "UPDATE escrowmq_barrier_state SET value = ? WHERE name = ? AND value < ?"
INSERT_ROLLBACK: Final = (
    "INSERT INTO escrowmq_barrier (id, database_id, producer_group, decision) VALUES (?, ?, ?, 'R')"
)
READ_NAMES: Final = "SELECT name FROM escrowmq_barrier_state WHERE value = ?"
_REMEMBER: Final = "INTO escrowmq_barrier_state (name, value) VALUES (?, ?)"
REMEMBER: Final = {
    "postgresql": f"INSERT {_REMEMBER} ON CONFLICT (name) DO NOTHING",
    "sqlite": f"INSERT {_REMEMBER} ON CONFLICT (name) DO NOTHING",
    "mysql": f"INSERT IGNORE {_REMEMBER}",
}
SWEEP: Final = "DELETE FROM escrowmq_barrier WHERE producer_group = ? AND id < ?"

# Ids are compared by their bytes, whatever language the database sorts in: sweeping goes by their order.
_POSTGRESQL_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS escrowmq_barrier ("
    'id VARCHAR(32) COLLATE "C" NOT NULL PRIMARY KEY, database_id VARCHAR(32) COLLATE "C" NOT NULL, '
    'producer_group VARCHAR(255) COLLATE "C" NOT NULL, decision VARCHAR(1) COLLATE "C" NOT NULL)',
    "CREATE TABLE IF NOT EXISTS escrowmq_barrier_state ("
    'name VARCHAR(400) COLLATE "C" NOT NULL PRIMARY KEY, value VARCHAR(32) COLLATE "C" NOT NULL)',
)
_MYSQL_COLUMN: Final = "CHARACTER SET ascii COLLATE ascii_bin NOT NULL"
_MYSQL_TABLES: Final = (
    f"CREATE TABLE IF NOT EXISTS escrowmq_barrier (id VARCHAR(32) {_MYSQL_COLUMN}, "
    f"database_id VARCHAR(32) {_MYSQL_COLUMN}, producer_group VARCHAR(255) {_MYSQL_COLUMN}, "
    f"decision VARCHAR(1) {_MYSQL_COLUMN}, PRIMARY KEY (id)) ENGINE=InnoDB",
    f"CREATE TABLE IF NOT EXISTS escrowmq_barrier_state (name VARCHAR(400) {_MYSQL_COLUMN}, "
    f"value VARCHAR(32) {_MYSQL_COLUMN}, PRIMARY KEY (name)) ENGINE=InnoDB",
)
_SQLITE_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS escrowmq_barrier (id VARCHAR(32) NOT NULL PRIMARY KEY, "
    "database_id VARCHAR(32) NOT NULL, producer_group VARCHAR(255) NOT NULL, decision VARCHAR(1) NOT NULL)",
    "CREATE TABLE IF NOT EXISTS escrowmq_barrier_state (name VARCHAR(400) NOT NULL PRIMARY KEY, "
    "value VARCHAR(32) NOT NULL)",
)
TABLES: Final = {"postgresql": _POSTGRESQL_TABLES, "mysql": _MYSQL_TABLES, "sqlite": _SQLITE_TABLES}
"""What makes the tables where they are missing, by dialect. MariaDB is a MySQL here."""
