"""A line of NDJSON is parsed as the strict parser would parse it, which neither of the quicker ways may show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.risk.signals.members import MEMBERS as KNOWN
from attestlab.risk.signals.ndjson import Lines, RejectedLine, parse_line, parse_ordinary_line, read_signal_lines
from attestlab.risk.signals.recording import NewSignal
from support.property_tests import examples

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REQUIRED = '"source":"s","signal_type":"t","score":1,"entity_type":"user","entity_id":"a"'
ODD = (
    *("1e400", "1e16", "1e300", "9007199254740993", "9007199254740993.0", "-9007199254740991", "-0", "NaN", "01"),
    *('"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', '"\\\\u0000"', '"a\\": 1"', '"\\n"', "true", "null", '"\x00"'),
)
NAMES = st.sampled_from(['"a"', '"b"', '"\\u0061"', '"a\\":"', '"\\u0000"'])


def join_members(members: list[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{name} :{value}" for name, value in members) + "}"


VALUES = st.recursive(
    st.sampled_from(ODD) | st.integers().map(str) | st.floats().map(json.dumps) | st.text().map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]")
        | st.lists(st.tuples(NAMES, inner), max_size=4).map(join_members)
    ),
    max_leaves=12,
)


def read_details(line: bytes) -> object:
    """What is stored; None if the line is rejected."""
    try:
        return json.loads(parse_line(line, now=NOW).details)
    except ValidationFailed:
        return None


def read_strictly(line: bytes) -> object:
    try:
        document = parse_json(line)
    except ValidationFailed:
        return None
    assert isinstance(document, dict)
    return document["details"]


@pytest.mark.more_in_soak
@given(VALUES)
@settings(max_examples=examples(200, many=20_000), deadline=None)
def test_a_line_is_accepted_if_and_only_if_the_strict_parser_accepts_it(value: str) -> None:
    line = f'{{{REQUIRED},"details":{{"x":{value}}}}}'.encode()

    assert read_details(line) == read_strictly(line)


@pytest.mark.parametrize("depth", [31, 33, 61, 62, 63, 64, 70, 1_100])
@pytest.mark.parametrize(("opening", "middle", "closing"), [("[", "", "]"), ("[", "1", "]"), ('{"a":', "1", "}")])
def test_depth_is_that_of_the_strict_parser(depth: int, opening: str, middle: str, closing: str) -> None:
    value = opening * depth + middle + closing * depth
    line = f'{{{REQUIRED},"details":{{"x":{value}}}}}'.encode()

    assert read_details(line) == read_strictly(line)


@pytest.mark.parametrize("score", ["-0", "-0.0", "-0e5"])
def test_no_score_is_negative_zero(score: str) -> None:
    line = f"{{{REQUIRED}}}".replace('"score":1', f'"score":{score}').encode()

    assert str(parse_line(line, now=NOW).score) == "0.0"


ORDINARY = {
    **{"source": "login", "signal_type": "ato", "score": 12.5, "entity_type": "user", "entity_id": "ada"},
    **{"occurred_at": "2025-12-31T10:00:00.5Z", "details": {"rule": "burst", "window_s": 300, "is_new": True}},
}
MEMBERS = [(json.dumps(name), json.dumps(value)) for name, value in ORDINARY.items()]
ODD_VALUES = {  # of each member, as JSON text: what changes its meaning, and what only looks as if it did
    "source": ['"Login"', '""', f'"{"a" * 65}"', '"login\\n"', "null", "7", '["login"]', '"l\\u006fgin"'],
    "signal_type": ['":ato"', '"at\u00f6"', "true"],
    "score": ["-0.0", "100", "100.0001", "-1", "1e1", "true", '"12"', "NaN", "9007199254740993", "null", "1e400"],
    "entity_type": ['"ip"', '"document"', '"alien"', "null", "[]", '"USER"', '"attestation"'],
    "entity_id": [
        *('" ada"', '"ada "', '" "', '""', '"a\u00a0b"', '"\u4e2d\U0001f600"', f'"{"a" * 257}"', f'"{"a" * 256}"'),
        *('"203.0.113.5/24"', '"203.0.113.0/24"', '"2130706433"', '"127.1"', '"http://203.0.113.9/"'),
        *('"2001:DB8::0009"', '"a\x7fb"', '"a\x00b"', '"\\u0000"', '"\\ud800"', '"a\\"b"', "12", '":"'),
    ],
    "occurred_at": [
        *('"2025-12-31"', '"2025-12-31 10:00:00Z"', '"2025-12-31T10:00:00+01:00"', '"2025-12-31t10:00:00z"', "null"),
        *('"2025-02-30T10:00:00Z"', '"2025-12-31T24:00:00Z"', '"2025-12-31T23:59:60Z"', '"2026-01-01T00:00:01Z"'),
        *('"2026-01-01T00:01:01Z"', '"2025-12-31T10:00:00.1234Z"', '"2025-12-31T10:00:00.12Z"', "1767175200", '""'),
        *('"2025-W52-3T10:00:00Z"', '"0000-01-01T00:00:00Z"', '"\u0662025-12-31T10:00:00Z"'),
    ],
    "details": [
        *('{"a":1,"a":2}', '{"a":1,"a" :2}', '{"a":{"b":1}}', '{"a":[1]}', "null", "{}", "[]", '"a"', "7", "true"),
        *('{"n":9007199254740993}', '{"n":9007199254740991}', '{"n":1e17}', '{"n":NaN}', '{"n":-0}', '{"":""}'),
        *('{"z":1,"a":2}', '{"t":":x"}', '{"t":"\\u0000"}', f'{{"t":"{"x" * 8_180}"}}', f'{{"t":"{"x" * 8_200}"}}'),
        f'{{"a":{"[" * 70}{"]" * 70}}}',
    ],
    "score_scale": ['"unit"', '"percent"', '"other"', "null"],
    "colour": ['"red"'],
}
ODD_MEMBERS = st.sampled_from([(json.dumps(name), value) for name, values in ODD_VALUES.items() for value in values])
MARKS = st.sampled_from(["", " ", "\n", "\r\n", "\t", "}\n{", "},{", '"', "\\", "\ufeff", ",", "\x00", "[", "x"])


@st.composite
def mutated_lines(draw: st.DrawFn) -> str:
    """Draw a line that is ordinary but for a few members, which may come twice or not at all, and a few marks."""
    members = [each for each in MEMBERS if draw(st.integers(0, 9))]
    for member in draw(st.lists(ODD_MEMBERS | st.sampled_from(MEMBERS), max_size=2)):
        others = [each for each in members if each[0] != member[0] or not draw(st.integers(0, 4))]
        members = [*others, member]
    colon, comma = draw(st.sampled_from([(":", ","), (": ", ", "), (" :", ",")]))
    text = "{" + comma.join(f"{name}{colon}{value}" for name, value in draw(st.permutations(members))) + "}"
    place = draw(st.integers(0, len(text)))
    mark = draw(MARKS) if not draw(st.integers(0, 3)) else ""
    return text[:place] + mark + text[place + draw(st.integers(0, 1)) * len(mark) :]


BLANK_LINES = st.sampled_from(["", " ", "\r"])
ENDS = st.sampled_from(["\n", "\r\n", "\n\n"])


def read_all(lines: Lines[NewSignal]) -> tuple[list[str], list[RejectedLine]]:
    """Read all lines; each signal as text, in which True is not 1."""
    found = list(map(repr, lines.parse_batch() or []))
    return found, lines.rejected


@pytest.mark.more_in_soak
@given(st.lists(mutated_lines() | BLANK_LINES, max_size=8), ENDS)
@settings(max_examples=examples(100, many=5_000), deadline=None)
def test_a_mutated_line_is_accepted_or_rejected_in_the_words_of_the_careful_way(lines: list[str], end: str) -> None:
    """In its full form, of some 20,000 lines: each keeps its number and text, however the lines around it are."""
    text = end.join(lines).encode()

    assert read_all(read_signal_lines(text, now=NOW)) == read_all(
        Lines(text, partial(parse_line, now=NOW), known=KNOWN)
    )


def test_each_odd_value_alone_is_read_as_in_the_careful_way() -> None:
    for name, value in ((name, value) for name, values in ODD_VALUES.items() for value in values):
        members = {**dict(MEMBERS), json.dumps(name): value}
        text = f"{{{','.join(f'{each}:{its}' for each, its in members.items())}}}".encode()
        careful = read_all(Lines(text, partial(parse_line, now=NOW), known=KNOWN))

        assert read_all(read_signal_lines(text, now=NOW)) == careful, (name, value)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"score": 0},
        {"entity_type": "ip", "entity_id": "2001:DB8::0009"},
        {"entity_id": "\u4e2d\u6587 2"},
        {"details": None, "occurred_at": None},
        {"occurred_at": "2025-12-31T10:00:00Z"},
    ],
)
def test_an_ordinary_line_takes_the_quick_way(changes: dict[str, Any]) -> None:
    line = json.dumps({**ORDINARY, **changes}, ensure_ascii=False).encode()

    assert parse_ordinary_line(line, now=NOW) == parse_line(line, now=NOW)


@pytest.mark.parametrize(
    "address", ["203.0.113.5/24", "203.0.113.0/24", "2130706433", "127.1", "http://203.0.113.9/", "fe80::1%eth0"]
)
def test_an_address_that_is_no_plain_one_takes_the_careful_way(address: str) -> None:
    line = json.dumps({**ORDINARY, "entity_type": "ip", "entity_id": address}).encode()

    assert parse_ordinary_line(line, now=NOW) is None


def test_lines_that_are_one_value_only_together_are_no_signals() -> None:
    """As an array they would be as many values as lines: two in the first, and one in the others."""
    whole = json.dumps(ORDINARY)
    text = f'{whole},{whole}\n{whole[:-1]},"x":[{{}}\n{{}}]}}\n{whole}'.encode()
    lines = read_signal_lines(text, now=NOW)

    assert len(lines.parse_batch() or []) == 1
    assert [each.line for each in lines.rejected] == [1, 2, 3]
