"""Filter expressions and messages to try them on: by hand, what the dialect is about; by chance, the rest."""

import random
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

Case: TypeAlias = dict[str, Any]
"""An expression and the properties of some messages, as `java/escrowmq/interop/Evaluate.java` reads them."""

NAMES: Final = ("a", "b", "A", "price", "$x", "_y1", "TAGS", "notes", "isNull")

VALUES: Final = (
    "0", "1", "5", "-1", "+5", "10", "007", "2147483647", "2147483648", "-2147483649", "9223372036854775807",
    "9223372036854775808", "5.0", "1.5", ".5", "5.", "1e3", " 5 ", "5f", "5d", "5L", "0x1p3", "0x.8P1", "0x1", "NaN",
    "-NaN", "Infinity", "-Infinity", "inf", "-0.0", "1e400", "1e-400", "4.9e-324", "\u0665", "\uff11\uff12",
    "\U0001d7d3", "true", "TRUE", "False", "yes", "x", "abc", "ABC", "it's", "a b", "äöü", "😀", "NULL", "%", "\ufffd",
)  # fmt: skip

INTEGERS: Final = (
    "0", "1", "5", "10", "12l", "5L", "2147483647", "2147483648", "3000000000", "9223372036854775807",
    "9223372036854775808", "007", "0l",
)  # fmt: skip

FLOATS: Final = (
    "5.0", "1.5", ".5", "5.", "1e3", "1E-3", "5.e1", "0.0", "1e400", "1e-400", "4.9e-324", "00.5",
    "1.7976931348623157e308",
)  # fmt: skip

TEXTS: Final = (
    "''", "'x'", "'abc'", "'ABC'", "'5'", "'it''s'", "''''", "'äöü'", "'😀'", "'true'", "'a'", "'c'", "'\ufffd'",
)  # fmt: skip

SIGNS: Final = ("=", "<>", ">", ">=", "<", "<=")

WORDS: Final = (
    "AND", "OR", "NOT", "BETWEEN", "IN", "IS", "NULL", "TRUE", "FALSE", "CONTAINS", "STARTSWITH", "ENDSWITH", "and",
    "Or", "nOt", "between", "in", "is", "null", "true", "contains", "LIKE", "=", "<>", "<", "<=", ">", ">=", "(", ")",
    ",", "+", "-", "--", "!=", "==", ".", "/", "*", "/* c */", "-- c\n", "@", "'", '"', "é", "\u017f", "K", "\x1a",
    "\xa0", ";",
)  # fmt: skip

BY_HAND: Final = (
    "", " ", "a", "NOT a", "NOT NOT a", "1", "'x'", "TRUE", "FALSE", "NULL", "NOT NULL", "TRUE AND NULL",
    "FALSE OR NULL", "a IS NULL", "a IS NOT NULL", "NOT a IS NULL", "(a IS NULL) = TRUE", "NULL IS NULL", "1 IS NULL",
    "a IS", "a IS NOT", "a IS TRUE", "a = NULL", "NULL = a", "a <> NULL", "a = 5", "5 = a", "a <> 5", "5 <> a",
    "a = '5'", "'5' = a", "a = 5.0", "5.0 = a", "a = 3000000000", "3000000000 = a", "a = -5", "-5 = a", "a = +5",
    "a = b", "a <> b", "a > b", "a >= b", "a < b", "a <= b", "a > 5", "a >= 5", "a < 5", "a <= 5", "5 > a", "5 < a",
    "a > -5", "-a > 5", "- -5 < a", "--5 < a", "+a > 5", "-'x' > a", "a > 'x'", "a > TRUE", "'x' > a", "a > NULL",
    "TRUE > a", "(a = 1) > 1", "NOT a > 5", "NOT (a > 5)", "NOT a = 5", "(NOT a) = 5", "a > 1.5", "a > .5", "a > 5.",
    "a > 1e3", "a > 0.0", "a > 0", "a > -0", "a > -0.5", "a > 1e400", "a > 1e-400", "a > 4.9e-324",
    "a > 9223372036854775807", "a > 9223372036854775808", "a > -9223372036854775807", "a > -9223372036854775808",
    "a > 2147483647", "a > 2147483648", "a > -2147483648", "a > 5L", "a > 5l", "a > 0l", "a > 007", "a > 0x10",
    "a BETWEEN 1 AND 5", "a BETWEEN 5 AND 1", "a BETWEEN 5 AND 5", "a BETWEEN 1 AND 5.5", "a BETWEEN 1.5 AND 1",
    "a BETWEEN -5 AND 5", "a BETWEEN 5 AND -5", "a BETWEEN 'x' AND 'y'", "a BETWEEN NULL AND 5", "a BETWEEN b AND 5",
    "5 BETWEEN a AND b", "a BETWEEN 1 OR 5", "a BETWEEN 1", "a BETWEEN 1 AND", "a NOT BETWEEN 1 AND 5",
    "a NOT BETWEEN 5 AND 1", "a BETWEEN 1 AND 5 AND b = 1", "a BETWEEN 1 AND 5 = TRUE", "a BETWEEN 3000000000 AND 1",
    "a BETWEEN 1 AND 3000000000", "NOT a BETWEEN 1 AND 5", "a IN ('x')",
    "a IN ('x', 'abc', '5', 'true', 'it''s', 'äöü')", "a NOT IN ('x')", "a NOT IN ('x', 'abc')", "a IN ()",
    "a IN (5)", "a IN ('x' 'y')", "a IN 'x'", "a IN ('x',)", "'x' IN ('x')", "(a) IN ('x')", "+a IN ('x')",
    "-a IN ('x')", "NOT a IN ('x')", "a IN ('x') IN ('y')", "a IN ('')", "a NOT b", "a NOT", "a = 1 NOT IN ('x')",
    "a CONTAINS 'b'", "a NOT CONTAINS 'b'", "NOT (a CONTAINS 'b')", "a CONTAINS ''", "a NOT CONTAINS ''",
    "a CONTAINS 5", "a CONTAINS b", "5 CONTAINS '5'", "'abc' CONTAINS 'b'", "TRUE CONTAINS 'TRUE'",
    "NULL CONTAINS 'x'", "NULL NOT CONTAINS 'x'", "a STARTSWITH 'a'", "a NOT STARTSWITH 'a'", "a STARTSWITH ''",
    "a ENDSWITH 'c'", "a NOT ENDSWITH 'c'", "a ENDSWITH ''", "a CONTAINS 'b' CONTAINS 'c'", "a CONTAINS 'b' = TRUE",
    "a CONTAINS '''' ", "a CONTAINS '😀'", "a STARTSWITH '\ufffd'", "a = TRUE", "TRUE = a", "a <> TRUE", "a = FALSE",
    "FALSE = a", "TRUE = TRUE", "TRUE = FALSE", "TRUE = 5", "5 = TRUE", "TRUE = 'x'", "'x' = TRUE", "'true' = TRUE",
    "(a = 5) = TRUE", "(a = 5) = b", "b = (a = 5)", "(a = 5) = 5", "(a = 5) = (b = 5)", "a = b = TRUE",
    "a = b = 'true'", "1 = 1", "1 = 1.0", "1 < 2.0", "3000000000 > 2147483647.5",
    "9223372036854775807 = 9223372036854775807.0", "'a' = 'a'", "'a' = 'b'", "'1' = 1", "1 = '1'", "'x' = 1",
    "a = 1 AND b = 1", "a = 1 OR b = 1", "a = 1 OR b = 1 AND a = 5", "(a = 1 OR b = 1) AND a = 5", "a > 5 OR TRUE",
    "TRUE OR a > 5", "a > 5 AND FALSE", "FALSE AND a > 5", "a AND b", "a OR TRUE", "a > 5 OR b > 5",
    "a IS NULL OR a > 5", "a IS NOT NULL AND a > 5", "a AND 1", "1 AND a", "'x' OR a", "a + 1 > 5", "a - 1 > 5",
    "a * 2 > 5", "a-b > 5", "a.b = 1", "$x = 'x'", "_y1 = '5'", "A = 'x'", "é = 'x'", "a = \"x\"", "a = 'x", "a == 1",
    "a != 1", "a <> 1 <> 2", "a <>", "= 1", "a LIKE 'x'", "a > 1 AND b LIKE 'x'", "a > 1 b", "a > 1 )", "(a > 1",
    "((a > 1)", "(a > 1))", "a > 1 ;", "a > 1 b ;", "a > 1 -- c", "a > 1 -- c\n AND b > 1", "a > /* c */ 1",
    "a > 1 /* c", "a > 1 /", "a /**/ > 1", "a > 1 /***/ AND TRUE", "/* c */ a > 1", "a /*/ > 1", "-- c\na > 1",
    "-- c\ra > 1", "a>1AND b>1", "a>1 ANDb>1", "a\t>\n1\r\n AND\x0cb > 1", "a\xa0> 1", "a\u017f = 1", "K = 'x'",
    "\u0131s = 'x'", "true", "nULL is nUll", "NOTa", "not(a is null)", "a=5AND(b=5)", "1.e", "a > 1..5", "a > 5e",
    "a > 5e+", "a > 5e5", "TRUE FALSE", "TRUE TRUE @", "a > 1 AND", "AND a", "OR", "NOT", "()", "(TRUE)",
    "((((TRUE))))", "NOT(NOT(NOT(TRUE)))", "- - - 5 < a", "+ + 5 < a", "+-+5 < a", "a > - 5.5",
    "TAGS = 'x' AND price BETWEEN 1 AND 10 AND notes CONTAINS 'a' OR isNull IS NULL",
)  # fmt: skip
"""What the dialect is about, each with and without its operator, its types and its ends."""


def by_hand(seed: int) -> Iterator[Case]:
    """The expressions above, each with NOT and IS NULL around, so that unknown, false and failed are told apart."""
    chance = random.Random(seed)
    # One message for each value of the property that most of them look at, and some without it.
    messages = [{**properties(chance), "a": value} for value in VALUES]
    messages += [{}] + [properties(chance, without="a") for _ in range(4)]
    for expression in BY_HAND:
        for form in ("{}", "NOT ({})", "({}) IS NULL"):
            yield {"expression": form.format(expression), "messages": messages}


def by_chance(seed: int, count: int) -> Iterator[Case]:
    """Expressions that follow the grammar, some of them damaged, and some that follow nothing."""
    chance = random.Random(seed)
    makers: tuple[Callable[[random.Random], str], ...] = (_grammatical, _grammatical, _damaged, _soup)
    messages = [properties(chance) for _ in range(16)]
    for _ in range(count):
        yield {"expression": chance.choice(makers)(chance), "messages": messages}


def properties(chance: random.Random, *, without: str = "") -> dict[str, str]:
    """The properties of a message."""
    names = [name for name in NAMES if name != without and chance.random() < 0.6]
    return {name: chance.choice(VALUES) for name in names}


def _grammatical(chance: random.Random) -> str:
    return _any(chance, chance.randint(1, 4))


def _damaged(chance: random.Random) -> str:
    text = _grammatical(chance)
    at = chance.randrange(len(text))
    kind = chance.randrange(3)
    if kind == 0:
        return text[:at] + text[at + chance.randint(1, 4) :]
    if kind == 1:
        return f"{text[:at]}{chance.choice(WORDS)}{text[at:]}"
    return f"{text} {_soup(chance)}"


def _soup(chance: random.Random) -> str:
    words = (*WORDS, *NAMES, *INTEGERS, *FLOATS, *TEXTS)
    return chance.choice(("", " ")).join(chance.choice(words) for _ in range(chance.randint(1, 9)))


def _any(chance: random.Random, depth: int) -> str:
    conditions = [_condition(chance, depth - 1) for _ in range(chance.choice((1, 1, 2, 3)))]
    joint = chance.choice((" AND ", " OR ", " and ", "\nOr "))
    return joint.join(conditions)


def _condition(chance: random.Random, depth: int) -> str:
    if depth > 0 and chance.random() < 0.4:
        inner = _any(chance, depth)
        form = chance.choice(("({})", "NOT ({})", "({}) IS NULL", "({}) IS NOT NULL", "({}) = TRUE", "({})"))
        return form.format(inner)
    left, right = _value(chance), _value(chance)
    text, name = chance.choice(TEXTS), chance.choice(NAMES)
    no = chance.choice(("", "", "NOT "))
    sign, constant = chance.choice(SIGNS), chance.choice((*INTEGERS[:8], *FLOATS[:5], *TEXTS))
    return chance.choice(
        (
            f"{left} {sign} {right}",
            f"{name}{sign}{constant}",
            f"{name} {no}BETWEEN {right} AND {_value(chance)}",
            f"{name} {no}IN ({', '.join(chance.choices(TEXTS, k=chance.randint(1, 7)))})",
            f"{left} {no}{chance.choice(('CONTAINS', 'STARTSWITH', 'ENDSWITH'))} {text}",
            f"{left} IS {no}NULL",
            f"{no}{name}",
            chance.choice(("TRUE", "FALSE", "NULL")),
        )
    )


def _value(chance: random.Random) -> str:
    sign = chance.choice(("", "", "", "-", "+", "- -"))
    return sign + chance.choice((*NAMES, *NAMES, *INTEGERS, *FLOATS, *TEXTS[:6], "TRUE", "NULL"))
