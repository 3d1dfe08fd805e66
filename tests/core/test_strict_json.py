"""Strict JSON: input has one meaning, or is rejected with a remedy."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_SAFE_INTEGER, _remove_strings, parse_json
from support.refusals import require_fault

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
CODES = {"malformed_json", "not_utf8", "number", "lone_surrogate", "nul", "duplicate_member", "too_deep"}


PLACED = {"nul", "lone_surrogate"}  # whose fields are pointers


def refusal(raw: bytes, **limits: int) -> tuple[str, str]:
    """The code and the message with which `raw` is refused; the fault is of the whole body, or of a text's place."""
    with pytest.raises(ValidationFailed) as refused:
        parse_json(raw, **limits)
    (fault,) = refused.value.fields
    assert fault.field == "" or fault.code in PLACED
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
    except ValidationFailed as refused:
        require_fault(refused, "", CODES)
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


@given(st.lists(st.text('\\"{}[],a', max_size=8), max_size=40), st.integers(0, 40))
def test_strings_are_removed_whatever_they_contain(strings, cut):
    """Also where a string does not end, and where a part of 1,000 strings does."""
    text = "[" + ",".join(json.dumps(one) for one in [*strings, *["["] * 998]) + ']"'

    assert _remove_strings(f"{text}{'[' * cut}".encode()) == b"[" + b"," * (len(strings) + 997) + b"]"


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


@pytest.mark.parametrize(
    ("raw", "pointer", "code"),
    [
        (rb'"\u0000"', "", "nul"),
        (rb'{"a": "x", "b": {"c/d": ["x", "y\u0000"]}}', "/b/c~1d/1", "nul"),
        (rb'{"a": {"x\u0000y": 1}, "b": "\u0000"}', "/a", "nul"),
        (rb'[{"a": "\\u0000"}, "\ud83d"]', "/1", "lone_surrogate"),
        (rb'{"a": ["\ud83d\ude00", {"\ude00": "\u0000"}]}', "/a/1", "lone_surrogate"),
        (b'{"%s": "\\u0000"}' % (b"n" * 100), f"/{'n' * 64}...", "nul"),
    ],
    ids=["alone", "nested", "name", "second", "name of a nested member", "long name"],
)
def test_a_text_that_cannot_be_stored_is_named_by_its_place(raw, pointer, code):
    with pytest.raises(ValidationFailed) as refused:
        parse_json(raw)

    assert [(fault.field, fault.code) for fault in refused.value.fields] == [(pointer, code)]


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


@pytest.mark.parametrize("raw", [rb'{"a":"\u0000"}', rb'{"a":"\\\u0000"}', rb'{"\u0000":1}'])
def test_nul_character_is_rejected_anywhere(raw: bytes) -> None:
    with pytest.raises(ValidationFailed, match="U\\+0000"):
        parse_json(raw)


def test_an_escaped_backslash_before_u0000_is_no_nul_character() -> None:
    assert parse_json(rb'["\\u0000"]') == [r"\u0000"]
