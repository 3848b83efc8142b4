"""Real databases for tests: a PostgreSQL and a MariaDB in folders of their own, on unix sockets, gone afterwards.

Neither runs as root; where a test does, they run as the users that Debian's packages make for them.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from tests.leash import die_with_parent

_PATIENCE_S: Final = 50.0
_STOP_MAX_S: Final = 10.0
_PAUSE_S: Final = 0.05
_POSTGRESQL_FOLDERS: Final = "/usr/lib/postgresql/*/bin"


class RealDatabase:
    """A server that runs: where its socket is, and the URL of a database of SQLAlchemy's."""

    def __init__(self, url: str, async_url: str, *, host: str, port: int) -> None:
        self.url = url
        self.async_url = async_url
        self.host = host
        self.port = port


@contextmanager
def postgresql() -> Iterator[RealDatabase]:
    """A PostgreSQL that also listens on a port of 127.0.0.1, for a proxy before it."""
    initdb, postgres = _program("initdb", _POSTGRESQL_FOLDERS), _program("postgres", _POSTGRESQL_FOLDERS)
    with _folder("postgres") as folder:
        data, port = folder / "data", _free_port()
        _run_as(
            "postgres",
            [initdb, "-D", data, "-U", "escrow", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
        )
        settings = ["-c", "fsync=off", "-c", "max_prepared_transactions=5", "-c", "shared_buffers=16MB"]
        command = [postgres, "-D", data, "-k", folder, "-h", "127.0.0.1", "-p", port, *settings]
        with _serving("postgres", command, folder, folder / f".s.PGSQL.{port}"):
            place = f"escrow@/postgres?host={folder}&port={port}"
            _await_login(lambda: _psycopg_login(folder, port))
            yield RealDatabase(
                f"postgresql+psycopg://{place}", f"postgresql+psycopg://{place}", host=str(folder), port=port
            )


@contextmanager
def mariadb() -> Iterator[RealDatabase]:
    """A MariaDB."""
    server, install = _program("mariadbd", "/usr/sbin"), _program("mariadb-install-db", "/usr/bin")
    with _folder("mysql") as folder:
        data, socket_path = folder / "data", folder / "sql.sock"
        _run_as(
            "mysql",
            [
                install,
                "--no-defaults",
                f"--datadir={data}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--innodb-log-file-size=4M",
                "--innodb-buffer-pool-size=16M",
            ],
        )
        command = [
            server,
            "--no-defaults",
            f"--datadir={data}",
            f"--socket={socket_path}",
            "--skip-networking",
            f"--tmpdir={folder}",
            "--innodb-buffer-pool-size=16M",
            "--innodb-log-file-size=4M",
            "--innodb-flush-log-at-trx-commit=0",
            "--performance-schema=OFF",
        ]
        with _serving("mysql", command, folder, socket_path):
            _await_login(lambda: _pymysql_login(socket_path))
            url = f"mysql+pymysql://root@localhost/escrow?unix_socket={socket_path}"
            yield RealDatabase(url, "", host=str(socket_path), port=0)


def _psycopg_login(folder: Path, port: int) -> None:
    import psycopg  # noqa: PLC0415 - only where a test wants it

    psycopg.connect(host=str(folder), port=port, user="escrow", dbname="postgres").close()


def _pymysql_login(socket_path: Path) -> None:
    import pymysql  # noqa: PLC0415 - only where a test wants it

    connection = pymysql.connect(unix_socket=str(socket_path), user="root")
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS escrow")
    connection.close()


def _program(name: str, *folders: str) -> str:
    """The path of a program; the test is skipped where there is none."""
    places = [str(path) for pattern in folders for path in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)]
    found = shutil.which(name, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def _user(name: str) -> int | None:
    """The user that a server runs as, where this process may choose."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        pytest.skip(f"there is no user {name}, and root may not run the server")


@contextmanager
def _folder(user: str) -> Iterator[Path]:
    """A folder of the server's. Its path is short: that of a unix socket has to be."""
    folder = Path(tempfile.mkdtemp(prefix="escrowmq-sql-"))
    try:
        owner = _user(user)
        if owner is not None:
            os.chown(folder, owner, -1)
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run_as(user: str, command: Sequence[object]) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        user=_user(user),
        cwd="/",
        timeout=_PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def _serving(user: str, command: Sequence[object], folder: Path, socket_path: Path) -> Iterator[None]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=log,
            stderr=log,
            cwd="/",
            user=_user(user),
            preexec_fn=die_with_parent,
        )
    try:
        until_s = time.monotonic() + _PATIENCE_S
        while not socket_path.exists():
            assert process.poll() is None, (folder / "log").read_text(encoding="utf-8")
            assert time.monotonic() < until_s, (folder / "log").read_text(encoding="utf-8")
            time.sleep(_PAUSE_S)
        yield
    finally:
        # To PostgreSQL that is: now. The other signal would have it wait for whoever is still connected.
        process.send_signal(signal.SIGINT if user == "postgres" else signal.SIGTERM)
        try:
            process.wait(_STOP_MAX_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_login(login: Callable[[], None]) -> None:
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            login()
        except Exception:
            if time.monotonic() > until_s:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
