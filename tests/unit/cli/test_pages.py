"""What the pages of a server say of it, and while its thread does not turn."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from escrowmq.broker_config import BrokerConfig
from escrowmq.cli import pages
from escrowmq.cli.pages import broker_pages
from escrowmq.telemetry.metrics import Metric, Reading
from escrowmq.testing.serving_thread import ServingThread

PATIENCE_S = 20.0


class Server:
    """Says what it is told to."""

    def __init__(self, reason: str | None = None) -> None:
        self._reason = reason

    @property
    def addresses(self) -> list[str]:
        return ["127.0.0.1:1"]

    def metrics(self) -> Iterator[Reading]:
        yield Reading(Metric("escrowmq_tests", "gauge", (), "Tests."), 1)

    def unready(self) -> str | None:
        return self._reason


@contextmanager
def served(server: Server) -> Iterator[None]:
    """Shows the pages of a server, and serves it."""
    thread = ServingThread()
    with broker_pages(server, BrokerConfig(metrics_port=0)) as beside:
        for inbox in beside:
            thread.call(lambda inbox=inbox: thread.add(inbox))  # type: ignore[misc]
        yield
        thread.close()


def page(shown: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection(re.findall(r"http://(\S+)/metrics", shown)[0], timeout=PATIENCE_S)
    connection.request("GET", path)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_a_server_that_serves_is_alive_and_ready(capsys: pytest.CaptureFixture[str]) -> None:
    with served(Server()):
        shown = capsys.readouterr().out
        assert page(shown, "/healthz") == (200, "alive\n")
        assert page(shown, "/readyz") == (200, "ready\n")
        status, text = page(shown, "/metrics")
        assert status == 200
        assert 'escrowmq_tests{cluster="DefaultCluster",node_id="broker-a",node_type="broker"} 1.0\n' in text


def test_a_server_that_refuses_is_alive_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    with served(Server("the disk is full")):
        shown = capsys.readouterr().out
        assert page(shown, "/healthz") == (200, "alive\n")
        assert page(shown, "/readyz") == (503, "the disk is full\n")


def test_a_thread_that_does_not_turn_is_not_alive(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "TURN_TIME_S", 0.1)
    with broker_pages(Server(), BrokerConfig(metrics_port=0)):
        shown = capsys.readouterr().out
        for path in ("/healthz", "/readyz", "/metrics"):
            assert page(shown, path) == (503, "TimeoutError: the thread that serves has not turned for 0.1 s\n")
