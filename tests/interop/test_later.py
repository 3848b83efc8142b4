"""The recorded conversation about messages for later, held once more with a real Apache broker."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.golden.later_conversation import DELAY_LEVELS, all_told, hold
from tests.golden.test_later import recorded
from tests.interop.apache import Apache
from tests.interop.installation import install, missing_tools
from tests.unit.server.peer import Peer

from escrowmq import Frame

MISSING = missing_tools()
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)} on the path, to run Apache RocketMQ"),
]


class ApachesBroker:
    """A client of a real broker, whose clock goes by itself."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._opaque = 0

    def ask(self, code: int, fields: Mapping[str, str], body: bytes, version: int) -> Frame:
        self._opaque += 1
        self._peer.send(
            Frame(code, language="JAVA", version=version, opaque=self._opaque, ext_fields=fields, body=body or None)
        )
        (answer,) = self._peer.receive()
        return answer

    def pass_time(self, time_ms: int) -> None:
        """Whoever waits for messages asks again and again."""


def test_the_recorded_conversation_is_what_apaches_broker_says(tmp_path: Path) -> None:
    options = {"messageDelayLevel": DELAY_LEVELS}
    with (
        Apache(install(), tmp_path / "store", scratch=tmp_path, options=options) as apache,
        Peer(apache.broker_address) as peer,
    ):
        assert all_told(hold(ApachesBroker(peer))) == all_told(recorded())
