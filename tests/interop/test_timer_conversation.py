"""The recorded conversation about messages with a time of their own, held once more with a real Apache broker."""

from pathlib import Path

import pytest
from tests.golden.test_later import recording
from tests.golden.timer_conversation import ROLL_WINDOW_SLOTS, all_told, hold
from tests.interop.apache import Apache
from tests.interop.installation import Installation
from tests.interop.test_later import ApachesBroker
from tests.unit.server.peer import Peer


@pytest.mark.timeout(600)
def test_the_recorded_conversation_is_what_apaches_broker_says(installation: Installation, tmp_path: Path) -> None:
    options = {"recallMessageEnable": "true", "timerRollWindowSlot": str(ROLL_WINDOW_SLOTS)}
    with (
        Apache(installation, tmp_path / "store", scratch=tmp_path, options=options) as apache,
        Peer(apache.broker_address) as peer,
    ):
        assert all_told(hold(ApachesBroker(peer))) == all_told(recording("timer-conversation.jsonl.gz"))
