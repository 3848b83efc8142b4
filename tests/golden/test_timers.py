"""What was asked of Apache's broker about messages with a time of their own is asked of ours; the answers are equal."""

from pathlib import Path

from tests.golden.test_later import our_broker, recording
from tests.golden.timer_conversation import ROLL_WINDOW_SLOTS, all_told, hold

from escrowmq.broker_config import BrokerConfig

CONFIG = BrokerConfig(name="broker-a", port=0, takes_recalls=True, timer_roll_window_slots=ROLL_WINDOW_SLOTS)


def test_timers_are_answered_stored_delivered_and_taken_back_as_by_apaches_broker(tmp_path: Path) -> None:
    with our_broker(tmp_path, CONFIG) as broker:
        ours = all_told(hold(broker))
    theirs = all_told(recording("timer-conversation.jsonl.gz"))
    for our, their in zip(ours, theirs, strict=True):
        assert our == their
    assert len(theirs) == 31
