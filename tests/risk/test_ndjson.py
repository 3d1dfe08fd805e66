"""A line of NDJSON is parsed as the strict parser would parse it, which the fast path must not show."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.risk.signals.ndjson import parse_line
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
