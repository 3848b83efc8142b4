"""The exception tree: drawn, importable, picklable, and each class says whether to try again."""

import pickle
import re

import pytest

from escrowmq import errors

CLASSES = [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("error", CLASSES)
def test_every_class_is_drawn_in_the_tree(error: type[errors.EscrowError]) -> None:
    assert errors.__doc__ is not None
    drawn = re.findall(r"^[ │├└─]*(\w+) *", errors.__doc__, flags=re.MULTILINE)
    assert error.__name__ in drawn
    assert error.__doc__


def test_the_tree_says_which_are_retriable() -> None:
    assert errors.__doc__ is not None
    drawn = set(re.findall(r"^[ │├└─]*(\w+) .* retriable$", errors.__doc__, flags=re.MULTILINE))
    assert drawn == {error.__name__ for error in CLASSES if error.retriable}


@pytest.mark.parametrize("error", CLASSES)
def test_facts_survive_pickling(error: type[errors.EscrowError]) -> None:
    raised = error("what failed", path="/somewhere", found=3)
    copy = pickle.loads(pickle.dumps(raised))  # noqa: S301
    assert type(copy) is error
    assert str(copy) == "what failed"
    assert vars(copy) == {"path": "/somewhere", "found": 3}


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.BadMessage, ValueError),
        (errors.BadOption, ValueError),
        (errors.ProtocolError, ValueError),
        (errors.NotYetDurable, TimeoutError),
        (errors.NoRecord, LookupError),
        (errors.PermissionDenied, PermissionError),
    ],
)
def test_those_who_know_only_python_can_catch_them(error: type[errors.EscrowError], builtin: type[Exception]) -> None:
    assert issubclass(error, builtin)
