"""Nothing that a test starts is left behind when the test runner is killed."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

RUNNER = """
import subprocess, sys
from tests.leash import die_with_parent

server = subprocess.Popen(["sleep", "60"], stdout=sys.stdout, preexec_fn=die_with_parent)
print(server.pid, flush=True)
server.wait()
"""


def test_a_server_ends_with_a_runner_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", RUNNER], stdout=subprocess.PIPE, text=True, cwd=ROOT) as runner:
        assert runner.stdout is not None
        assert int(runner.stdout.readline()) > 0
        runner.kill()
        # The server holds the other end too: this returns when it is gone, and not a minute later.
        assert not runner.communicate(timeout=30)[0]
