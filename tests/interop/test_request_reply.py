"""A Java client asks by messages, and a Java consumer replies, through our broker."""

from pathlib import Path

import pytest
from tests.compat.broker_process import ServerProcess
from tests.interop.installation import Installation
from tests.interop.java_process import run_program

from escrowmq.admin import requests
from escrowmq.admin.client import Admin
from escrowmq.model.topic import TopicConfig

pytestmark = pytest.mark.timeout(300)

TOPIC = "questions"
QUESTIONS = 20


@pytest.mark.short
def test_javas_client_gets_the_reply_to_each_of_its_questions(installation: Installation, tmp_path: Path) -> None:
    with ServerProcess("up", tmp_path / "data", "--port=0", "--namesrv-port=0") as servers:
        # Before the consumer looks for it: it would look again after half a minute only.
        with Admin([servers.name_server]) as admin:
            admin.ask(servers.broker, requests.create_topic(TopicConfig(TOPIC, 4, 4)))
        rows = run_program(
            installation,
            "RequestReply",
            [servers.name_server, TOPIC, str(QUESTIONS)],
            home=tmp_path / "client",
            deadline_s=120,
        )
    questions = [f"question {number}" for number in range(QUESTIONS)]
    assert rows == [{"question": question, "reply": f"reply to {question}"} for question in questions]
