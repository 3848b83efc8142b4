"""The README's examples run as they stand, and do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def examples() -> list[str]:
    """What stands in the README as Python: a part of an example, a program, and a test."""
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_first_code_is_that_of_an_example() -> None:
    service = README.parent / "examples" / "orders" / "service.py"
    assert examples()[0] in service.read_text(encoding="utf-8")


def test_the_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    _, example, _ = examples()
    expected = re.findall(r"# prints (.*)", example)
    assert expected
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == expected


def test_the_example_of_a_test_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(examples()[2])
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_the_demonstration_ends_by_itself_and_loses_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "escrowmq.demo"], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert re.search(r"name server +127.0.0.1:\d+\n +broker +127.0.0.1:\d+\n", done.stdout)
    assert "SIGKILL" in done.stdout
    assert done.stdout.endswith("Nothing acknowledged is lost.\n")
