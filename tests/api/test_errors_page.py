"""docs/errors.md lists every exception and every response code of our servers, as the code has them."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from escrowmq import errors
from escrowmq.protocol.response_codes import ResponseCode

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
SERVERS = [ROOT / "python" / "escrowmq" / room for room in ("broker", "namesrv")]
LANES = ROOT / "rust" / "lanes" / "src"


def rows(columns: str) -> list[tuple[str, ...]]:
    """The rows of the table whose first two columns look like this."""
    found: list[tuple[str, ...]] = re.findall(rf"^\| {columns} \| (.+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
    return found


def codes_of_python() -> Iterator[str]:
    """The response codes that handlers name."""
    for path in (path for room in SERVERS for path in room.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ResponseCode":
                yield node.attr


def numbers_of_rust() -> dict[str, int]:
    """The response codes that the lanes name, and their numbers."""
    codes = (LANES / "fast" / "codes.rs").read_text(encoding="utf-8").partition("pub mod response")[2]
    codes += (LANES / "python_lane.rs").read_text(encoding="utf-8")
    return {name: int(number) for name, number in re.findall(r"const (\w+): i32 = (\d+);", codes)}


def test_every_exception_is_listed_as_it_is() -> None:
    listed = {name: (retriable, when) for name, retriable, when, _ in rows(r"`(\w+)` \| (yes|no)")}
    defined = {}
    for name in errors.__all__:
        kind = getattr(errors, name)
        summary = " ".join(str(inspect.getdoc(kind)).split("\n\n")[0].split())
        defined[name] = ("yes" if kind.retriable else "no", summary)
    assert listed == defined


def test_every_code_that_a_server_sends_is_listed_with_its_number() -> None:
    listed = {name: int(number) for number, name, *_ in rows(r"(\d+) \| `(\w+)`")}
    assert listed == {name: ResponseCode[name].value for name in listed}
    assert set(listed) == {*codes_of_python(), *numbers_of_rust()}


def test_rust_and_python_mean_the_same_by_a_code() -> None:
    assert numbers_of_rust() == {name: ResponseCode[name].value for name in numbers_of_rust()}


def test_every_error_says_what_to_do() -> None:
    advice = [row[-1] for row in rows(r"(\S+) \| (\S+)") if row[0] not in {"Class", "Code", "0"} and "-" not in row[0]]
    assert len(advice) == len(errors.__all__) + len({*codes_of_python(), *numbers_of_rust()}) - 1
    assert all(len(text) > len("nothing") for text in advice)
