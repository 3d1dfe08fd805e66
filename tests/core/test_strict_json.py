"""Strict parsers: input has one meaning, or is rejected with a remedy."""

from __future__ import annotations

import json
import string
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import (
    MAX_SAFE_INTEGER,
    b64url_decode,
    b64url_encode,
    format_time,
    parse_json,
    parse_time,
    parse_uuid,
)

safe_integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
exact_floats = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda value: abs(value) <= MAX_SAFE_INTEGER or abs(value) >= 1e21
)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
documents = st.recursive(
    st.none() | st.booleans() | safe_integers | exact_floats | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)


def refusal(raw: bytes, **limits: int) -> tuple[str, str]:
    """The code and the message with which `raw` is refused; the fault is of the whole body."""
    with pytest.raises(ValidationFailed) as refused:
        parse_json(raw, **limits)
    (fault,) = refused.value.fields
    assert fault.field == ""
    assert fault.message.endswith(".")
    return fault.code, fault.message


@settings(deadline=None)
@given(documents)
def test_output_of_any_json_writer_is_parsed(document):
    assert parse_json(json.dumps(document).encode()) == document
    assert parse_json(json.dumps(document, ensure_ascii=False, indent=1).encode()) == document


@settings(deadline=None)
@given(documents)
def test_canonical_form_of_a_parsed_value_parses_to_the_same_value(document):
    read = parse_json(json.dumps(document).encode())

    assert parse_json(canonical(read)) == read


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text('[]{}",:\\ud8-+.eE0123456789nNaItrufls \t', max_size=60).map(str.encode))
def test_any_bytes_parse_or_raise_validation_failed(raw):
    try:
        value = parse_json(raw)
    except ValidationFailed:
        return
    assert json.loads(raw) == value


def test_duplicate_member_is_rejected_by_name_at_any_depth():
    code, message = refusal(b'[{"kid": 1, "alg": 2, "k\\u0069d": 3}]')

    assert code == "duplicate_member"
    assert "'kid'" in message


def test_the_same_name_in_two_objects_is_no_duplicate():
    assert parse_json(b'[{"kid": 1}, {"kid": {"kid": 2}}]') == [{"kid": 1}, {"kid": {"kid": 2}}]


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_rejected(name):
    code, message = refusal(f'{{"score": {name}}}'.encode())

    assert code == "number"
    assert message.startswith(name)


@pytest.mark.parametrize("number", ["9007199254740992", "-9007199254740992", "1" * 17, "7" * 5_000, "-" + "7" * 5_000])
def test_integer_beyond_2_53_is_rejected(number):
    code, message = refusal(f"[{number}]".encode())

    assert code == "number"
    assert "string" in message
    assert len(message) < 150


@pytest.mark.parametrize("number", ["1e400", "-1e400", "7" * 5_000 + ".5", "1E+5000", "1e" + "9" * 5_000])
def test_a_number_too_large_for_a_double_is_refused(number):
    assert refusal(f"[{number}]".encode())[0] == "number"


@pytest.mark.parametrize("number", ["9007199254740992.0", "1e16", "-1e20", "123456789012345678901.5"])
def test_number_with_too_long_canonical_integer_is_rejected(number):
    assert refusal(number.encode())[0] == "number"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9007199254740991", MAX_SAFE_INTEGER),
        ("-9007199254740991", -MAX_SAFE_INTEGER),
        ("-0", 0),
        ("1e21", 1e21),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("1e-400", 0.0),
        ("0." + "3" * 5_000, 1 / 3),
    ],
)
def test_numbers_at_the_limits_are_read(text, value):
    assert parse_json(text.encode()) == value


def nested(depth: int) -> bytes:
    """Objects and arrays by turns, with brackets in strings that count for nothing."""
    opening = [b'{"[{":', b"["]
    closing = [b"}", b"]"]
    turns = [level % 2 for level in range(depth)]
    return b"".join(opening[t] for t in turns) + b'"]}[[\\""' + b"".join(closing[t] for t in reversed(turns))


def test_64_levels_are_accepted_and_65_rejected():
    assert parse_json(nested(64))
    assert refusal(nested(65)) == ("too_deep", "Arrays and objects are nested more than 64 deep; send a flatter value.")


def test_depth_counts_objects_like_arrays():
    assert parse_json(b'{"a":' * 64 + b"1" + b"}" * 64)
    assert refusal(b'{"a":' * 65 + b"1" + b"}" * 65)[0] == "too_deep"


def test_caller_sets_the_depth_limit():
    assert parse_json(b"[[1]]", max_depth=2) == [[1]]
    assert refusal(b"[[1]]", max_depth=1)[0] == "too_deep"


def test_wide_value_is_not_deep():
    wide = b"[" + b"[{}]," * 10_000 + b'{"a": [[[]]]}]'

    assert len(parse_json(wide)) == 10_001


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900])
def test_very_deep_body_is_rejected_without_a_crash(raw):
    assert refusal(raw)[0] == "too_deep"


def test_recursion_limit_of_python_is_a_rejection():
    raw = b"[" * 100_000 + b"]" * 100_000

    assert refusal(raw, max_depth=1_000_000) == (
        "too_deep",
        "Arrays and objects are nested too deep; send a flatter value.",
    )


@pytest.mark.parametrize("raw", [rb'"\ud83d"', rb'"\uDE00"', rb'{"\ud800x": 1}', rb'["\ude00\ud83d"]'])
def test_half_of_a_surrogate_pair_is_refused(raw):
    code, message = refusal(raw)

    assert code == "lone_surrogate"
    assert "\\ud" in message


@pytest.mark.parametrize(
    ("raw", "value"),
    [(rb'"\ud83d\ude00"', "\U0001f600"), ('"\U0001f600"'.encode(), "\U0001f600"), (rb'"\\ud83d"', r"\ud83d")],
)
def test_characters_are_read_in_any_escaping(raw, value):
    assert parse_json(raw) == value


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_utf16_and_utf32_are_rejected_by_name(encoding):
    code, message = refusal('{"name": "Zoë"}'.encode(encoding))

    assert code == "not_utf8"
    assert "UTF-16" in message


def test_a_byte_order_mark_is_refused():
    assert "byte order mark" in refusal('{"a": 1}'.encode("utf-8-sig"))[1]


@pytest.mark.parametrize("raw", [b'"\xe9"', b'"\xed\xa0\xbd"', b'"\xc0\xaf"', b'"\xf4\x90\x80\x80"', b'"\xe2\x82'])
def test_invalid_utf8_is_rejected_with_its_position(raw):
    code, message = refusal(raw)

    assert code == "not_utf8"
    assert "at byte 1" in message


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": 1,}', b"{'a': 1}", b'{"a" 1}', b"[1 2]", b"[1]]", b"01", b"+1", b".5", b"1.", b"0x10", b"1_000",
        b'"\t"', b'"\\x"', b'"\\u12"', b"// no\n1", b"nul", b"True", b'"open', b"\x0b1", b"\xc2\xa01", b'{"a": 1}{}',
        "१".encode(), b"undefined",
    ],
)  # fmt: skip
def test_invalid_json_is_rejected_with_line_and_column(raw):
    code, message = refusal(raw)

    assert code == "malformed_json"
    assert " column " in message


def test_error_position_is_counted_from_one():
    assert "line 2 column 8" in refusal(b'{\n  "a": oops}')[1]


@pytest.mark.parametrize("raw", [b"", b" \r\n\t"])
def test_empty_body_is_rejected_by_name(raw):
    assert "empty" in refusal(raw)[1]


def test_rejection_quotes_little_input_and_only_escaped():
    message = refusal(b'{"\\ud83d\\n' + b"x" * 10_000 + b'": 1, "\\ud83d\\n' + b"x" * 10_000 + b'": 1}')[1]

    assert len(message) < 200
    assert message.isascii()
    assert message.isprintable()


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_base64url_round_trips_padded_or_not(raw):
    assert b64url_decode(b64url_encode(raw)) == raw
    assert b64url_decode(urlsafe_b64encode(raw).decode()) == raw


@settings(deadline=None)
@given(st.text(string.ascii_letters + string.digits + "-_+/= \n", max_size=12))
def test_every_value_has_one_base64url_encoding(text):
    try:
        raw = b64url_decode(text)
    except ValidationFailed:
        return
    assert text in {b64url_encode(raw), urlsafe_b64encode(raw).decode()}


@pytest.mark.parametrize(
    "text",
    [
        "a", "aaaaa", "a=", "aa=", "aa===", "aaa==", "aaaa=", "aaaa==", "=", "==", "====", "aa==aa==", "a=aa", "=aaa",
        "+aaa", "/aaa", "aa aa", "aaaa\n", "\naaaa", " aaaa", "aaa\u00e4", "aaa\uff21", "aa%3D", "ab", "ab==", "aab",
        "aab=", "a.aa", "aa\x00", "aa\ud800",
    ],
)  # fmt: skip
def test_noncanonical_base64url_is_rejected(text):
    with pytest.raises(ValidationFailed) as refused:
        b64url_decode(text, field="/signature")
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/signature", "base64url")]
    assert refused.value.message.isascii()


@pytest.mark.parametrize("spelling", [str.lower, str.upper])
def test_a_uuid_is_read_in_either_case(spelling):
    text = "0193b5a0-7f3c-7abc-8def-0123456789ab"

    assert parse_uuid(spelling(text)) == UUID(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "0193b5a07f3c7abc8def0123456789ab", "{0193b5a0-7f3c-7abc-8def-0123456789ab}",
        "urn:uuid:0193b5a0-7f3c-7abc-8def-0123456789ab", "0193b5a0-7f3c-7abc-8def-0123456789ab\n",
        " 0193b5a0-7f3c-7abc-8def-0123456789ab", "0193b5a0-7f3c-7abc-8def-0123456789a",
        "0193b5a-07f3c-7abc-8def-0123456789ab",
        "0193b5a0-7f3c-7abc-8def-0123456789ag", "0193b5a0-7f3c-7abc-8def-0123456789a\uff11",
        "0193b5a0_7f3c_7abc_8def_0123456789ab", "+193b5a0-7f3c-7abc-8def-0123456789ab",
    ],
)  # fmt: skip
def test_other_forms_of_a_uuid_are_rejected(text):
    with pytest.raises(ValidationFailed) as refused:
        parse_uuid(text, field="id")
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("id", "uuid")]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02t03:04:05.678z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.67899999Z", "2026-01-02T03:04:05.678Z"),
        ("2026-01-02T03:04:05.6+05:30", "2026-01-01T21:34:05.600Z"),
        ("2026-12-31T23:59:59-23:59", "2027-01-01T23:58:59.000Z"),
        ("2024-02-29T00:00:00-00:00", "2024-02-29T00:00:00.000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_time_is_parsed_to_utc_and_formatted_with_three_decimals(text, moment):
    read = parse_time(text)

    assert read.tzinfo is UTC
    assert format_time(read) == moment


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04Z", "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05,5Z", "2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z",
        "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z", "2025-02-29T03:04:05Z", "0000-01-02T03:04:05Z",
        "2026-01-02T03:04:05+24:00", "2026-01-02T03:04:05+05:60", "2026-01-02T03:04:05+0530", "2026-01-02T03:04:05+05",
        "2026-01-02T03:04:05+05:30:15",
        "20260102T030405Z", "2026-W01-1T03:04:05Z", "1767322445", "2026-01-02T03:04:05Z\n", "2026-01-02T03:04:05ZZ",
        "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "2026-01-0\uff12T03:04:05Z",
    ],
)  # fmt: skip
def test_time_without_an_offset_is_rejected(text):
    with pytest.raises(ValidationFailed) as refused:
        parse_time(text, field="/expiry_at")
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/expiry_at", "time")]


@settings(deadline=None)
@given(
    st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1)),
    st.integers(-1439, 1439).map(lambda m: timedelta(minutes=m)),
)
def test_formatted_time_parses_to_the_same_millisecond(naive, offset):
    at = naive.replace(tzinfo=timezone(offset))

    assert parse_time(format_time(at)) == at.replace(microsecond=at.microsecond // 1000 * 1000)


def test_naive_time_is_not_formatted():
    with pytest.raises(ValueError, match="no UTC offset"):
        format_time(datetime(2026, 1, 2))


@pytest.mark.parametrize("raw", [rb'{"a":"\u0000"}', rb'{"a":"\\\u0000"}', rb'{"\u0000":1}'])
def test_nul_character_is_rejected_anywhere(raw: bytes) -> None:
    with pytest.raises(ValidationFailed, match="U\\+0000"):
        parse_json(raw)


def test_an_escaped_backslash_before_u0000_is_no_nul_character() -> None:
    assert parse_json(rb'["\\u0000"]') == [r"\u0000"]
