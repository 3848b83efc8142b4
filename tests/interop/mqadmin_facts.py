"""What mqadmin prints, as facts that two worlds can share: lines without what is each world's own.

Addresses, ids, times and rates are replaced by what they are; of stack traces the causes stay. Lines are sorted, since
mqadmin prints tables of Java, which have no order.
"""

import re
from collections.abc import Sequence
from typing import Final

_NOISE: Final = re.compile(r"^\s+at |^\s+\.\.\. \d+ more|\|-|^See https|^For more information|^\W*$")
_REPLACED: Final[Sequence[tuple[str, str]]] = (
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\b[0-9A-F]{32,56}\b", "ID"),
    (r"\d{4}-\d\d-\d\d[ ,:]\d\d:\d\d:\d\d([,:.]\d{1,3})?", "TIME"),
    (r"\b1[789]\d{11}\b", "TIME"),
    (r"TPS: \d+\.\d+", "TPS: RATE"),
)


def facts(printed: str, own: Sequence[tuple[str, str]]) -> list[str]:
    """The facts among what was printed; `own` has texts of this world, and what they are."""
    for text, name in own:
        printed = printed.replace(text, name)
    for pattern, name in _REPLACED:
        printed = re.sub(pattern, name, printed)
    return sorted(re.sub(r"\s+", " ", line).strip() for line in printed.splitlines() if not _NOISE.search(line))


def without(lines: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Facts without what two worlds can't share; a line of which nothing is left is none."""
    for pattern in patterns:
        lines = [re.sub(pattern, "", line) for line in lines]
    return sorted(line for line in lines if line)


def settings(lines: Sequence[str]) -> dict[str, str]:
    """Facts of the kind `key = value`."""
    return {key: value for key, separator, value in (line.partition(" =") for line in lines) if separator}
