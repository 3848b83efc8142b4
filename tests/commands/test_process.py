"""The command as a process, with somebody at its terminal."""

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.leash import die_with_parent

from escrowmq.testing import LocalBroker

PATIENCE_S = 20.0


def command(broker: LocalBroker, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "escrowmq", *arguments, "--namesrv", broker.name_server]


@pytest.fixture
def following(broker: LocalBroker) -> Iterator[subprocess.Popen[bytes]]:
    """Follows `orders`, in which there is one message."""
    broker.create_topic("orders", queues=2)
    broker.send("orders", b"first")
    arguments = command(broker, "message", "read", "orders", "--follow", "--from=earliest")
    # Whoever starts tests in the background has Ctrl-C ignored, and processes of theirs inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, preexec_fn=die_with_parent) as process:
            yield process
            process.kill()
    finally:
        signal.signal(signal.SIGINT, before)


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE_S)
    assert ready, "nothing was printed"
    return process.stdout.readline()


def test_following_goes_on_with_what_arrives_until_ctrl_c(
    broker: LocalBroker, following: subprocess.Popen[bytes]
) -> None:
    assert read_line(following).endswith(b"  first\n")
    for body in (b"second", b"third", b"fourth"):
        broker.send("orders", body)
        assert read_line(following).endswith(b"  " + body + b"\n")
    following.send_signal(signal.SIGINT)
    assert following.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(("answer", "exit_code", "left"), [(b"n\n", 1, ["orders"]), (b"y\n", 0, [])])
def test_who_sits_at_the_terminal_is_asked_first(
    broker: LocalBroker, answer: bytes, exit_code: int, left: list[str]
) -> None:
    broker.create_topic("orders")
    leader, follower = pty.openpty()
    try:
        os.write(leader, answer)
        done = subprocess.run(
            command(broker, "topic", "delete", "orders"),
            stdin=follower,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == exit_code
    assert b"the topic orders and its messages will be gone. Go on?" in done.stderr
    assert (b"orders is deleted from broker-a" in done.stdout) == (not left)
    listed = subprocess.run(command(broker, "topic", "list"), capture_output=True, timeout=PATIENCE_S, check=True)
    assert (b"orders" in listed.stdout) == bool(left)
