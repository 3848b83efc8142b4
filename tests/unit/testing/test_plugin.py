"""The fixtures, as a project that has the package installed sees them."""

import subprocess
import sys

import pytest

CONVERSATION = '''
import socket
from escrowmq import Frame, decode_frames, encode_frames

def send(broker, body):
    """Sends a message as a client does, and returns the code of the answer."""
    fields = dict(a="producers", b="orders", c="TBW102", d="4", e="0", f="0", g="0", h="0", i="", j="0", k="false")
    host, _, port = broker.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(encode_frames([Frame(310, ext_fields=fields, body=body)]))
        received = b""
        while not (frames := decode_frames(received)[0]):
            received += connection.recv(65536)
        return frames[0].code
'''


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers -p no:benchmark")
    pytester.makepyfile(conversation=CONVERSATION)
    return pytester


def test_a_test_that_asks_for_a_broker_gets_one_of_its_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from conversation import send
        import pytest

        @pytest.mark.parametrize("body", [b"one", b"two"])
        def test_it(escrowmq_broker, body):
            escrowmq_broker.create_topic("orders")
            assert send(escrowmq_broker, body) == 0
            assert [message.body for message in escrowmq_broker.messages("orders")] == [body]
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=2)


def test_a_marker_says_how_it_is_set_up(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from conversation import send
        import pytest

        @pytest.mark.escrowmq(flush="async", settings={"broker.creates_topics": False})
        def test_marked(escrowmq_broker):
            assert send(escrowmq_broker, b"refused") == 17

        def test_unmarked(escrowmq_broker):
            assert send(escrowmq_broker, b"taken") == 0

        @pytest.mark.escrowmq(flsh="async")
        def test_mistaken(escrowmq_broker):
            pass
        """
    )
    result = project.runpytest_inprocess()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*TypeError*flsh*"])


def test_a_factory_starts_several(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from conversation import send

        def test_it(escrowmq_broker_factory):
            one, other = escrowmq_broker_factory(), escrowmq_broker_factory(flush="async")
            assert send(one, b"one") == 0
            assert [len(broker.messages("orders")) for broker in (one, other)] == [1, 0]
        """
    )
    project.runpytest_inprocess().assert_outcomes(passed=1)


def test_the_marker_and_the_fixtures_explain_themselves(project: pytest.Pytester) -> None:
    project.runpytest_inprocess("--markers").stdout.fnmatch_lines(["@pytest.mark.escrowmq(*): how the broker*"])
    project.runpytest_inprocess("--fixtures").stdout.fnmatch_lines(["escrowmq_broker_factory*", "escrowmq_broker *"])


def test_workers_of_xdist_do_not_meet(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        from conversation import send
        import pytest

        @pytest.mark.parametrize("index", range(8))
        def test_it(escrowmq_broker, index):
            assert send(escrowmq_broker, b"%d" % index) == 0
            escrowmq_broker.kill()
            escrowmq_broker.reopen()
            assert [message.body for message in escrowmq_broker.messages("orders")] == [b"%d" % index]
        """
    )
    project.runpytest_subprocess("-n", "2").assert_outcomes(passed=8)


def test_the_plugin_costs_next_to_nothing_until_a_broker_is_wanted() -> None:
    look = "import sys, escrowmq.testing.plugin; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert not {"escrowmq.broker", "escrowmq.testing.local_broker", "msgspec", "structlog"} & set(loaded)
