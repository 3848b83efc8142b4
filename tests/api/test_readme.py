"""The README's example runs as it stands, and prints what it says."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    expected = re.findall(r"# prints (.*)", example)
    assert expected
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == expected


def test_the_demonstration_ends_by_itself_and_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "escrowmq.demo"], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert re.search(r"name server +127.0.0.1:\d+\n +broker +127.0.0.1:\d+\n", done.stdout)
    assert "SIGKILL" in done.stdout
    assert done.stdout.endswith("Nothing acknowledged is lost.\n")
