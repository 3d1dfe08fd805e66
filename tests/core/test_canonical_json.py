"""Canonical JSON (RFC 8785), tested with its author's vectors and against the library `rfc8785`."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from hashlib import sha256

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attestlab.core.crypto.canonical_json import canonical, canonical_trusted, sha256_b64url, sha256_hex
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import parse_json
from support.property_tests import examples
from support.vectors import jcs_pairs

# Where code points and UTF-16 units sort apart: beside the surrogates' range, and beyond the first plane.
texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\ud7ff\ue000\uffff\U00010000\U0010ffff"))
floats = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e22, 1e22) | st.floats(-1e-3, 1e-3)
documents = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | floats | texts,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=6),
    max_leaves=25,
)


def test_vectors_of_the_author_of_rfc_8785():
    for name, raw, expected in jcs_pairs():
        assert canonical(parse_json(raw)) == expected, name


@pytest.mark.more_in_soak
@settings(max_examples=examples(100, many=300), deadline=None)
@given(documents)
@example({"\ue000": 1, "\U00010000": 2, "\ud7ff": 3, "a": 4})
@example(["".join(map(chr, range(0x20))) + '"\\/\x7f\x80\u2028\u2029'])
@example([0.0, -0.0, 1.0, 1e15, 1e16, 1.5e16, 123456789012345.6, 1e20, 1e21, 1e22])
@example([1e-3, 1.5e-4, 1e-4, 9.9e-5, 1e-6, 1.2e-7, 5e-324, 1.7976931348623157e308, 333333333.33333329])
@example({"": {}, "a": [], "b": [[], {}]})
@example({"b": 1, "a": 2})
def test_any_document_is_serialized_like_the_reference(document):
    assert canonical(document) == rfc8785.dumps(document)


own_documents = st.recursive(
    st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | texts,
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(st.characters(codec="ascii")), inner, max_size=6)
    ),
    max_leaves=25,
)


@settings(deadline=None)
@given(own_documents)
def test_trusted_document_has_the_same_canonical_form(document):
    assert canonical_trusted(document) == rfc8785.dumps(document)


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_back_as_the_same_double(number):
    assert float(canonical(number)) == number


@settings(deadline=None)
@given(st.dictionaries(texts, st.integers(0, 9), min_size=2))
def test_the_order_of_members_does_not_matter(members):
    backwards = dict(reversed(members.items()))

    assert canonical(members) == canonical(backwards)


def test_members_are_sorted_by_utf16_units_not_by_code_points():
    assert canonical({"\uffff": 1, "\U00010000": 2}) == '{"\U00010000":2,"\uffff":1}'.encode()


def test_tuples_and_enum_members_are_serialized_as_their_values():
    colour = StrEnum("colour", {"RED": "red"})
    level = IntEnum("level", {"LOW": 1})

    assert canonical({colour.RED: (colour.RED, level.LOW)}) == b'{"red":["red",1]}'


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**400, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", [lambda n: n, lambda n: [n], lambda n: {"a": {"b": [1, n]}}])
def test_a_number_outside_of_i_json_is_refused(number, place):
    with pytest.raises(ValidationFailed):
        canonical(place(number))


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\U0001f600\ud83d"])
@pytest.mark.parametrize("place", [lambda t: t, lambda t: [1.0, t], lambda t: {t: 1}, lambda t: {t: 1.0}])
def test_half_of_a_surrogate_pair_is_refused(text, place):
    with pytest.raises(ValidationFailed, match="lone surrogate"):
        canonical(place(text))


@pytest.mark.parametrize(
    "value",
    [b"bytes", bytearray(), {1, 2}, object(), datetime(2026, 1, 2, tzinfo=UTC), 1j, len, {1: "a"}, {None: 1}, {b"a": 1},
     {True: 1}, {1.5: 1}, {("a",): 1}],
)  # fmt: skip
@pytest.mark.parametrize("place", [lambda v: v, lambda v: [v], lambda v: {"a": [v, {"b": v}]}])
def test_non_json_value_is_a_type_error(value, place):
    with pytest.raises(TypeError):
        canonical(place(value))


def test_endless_nesting_is_refused():
    endless: list[object] = []
    endless.append(endless)

    with pytest.raises(ValidationFailed, match="nested"):
        canonical(endless)


@settings(deadline=None)
@given(st.binary())
def test_hex_and_base64url_hashes_have_the_same_bytes(raw):
    digest = sha256(raw).digest()

    assert sha256_hex(raw) == digest.hex()
    assert len(sha256_b64url(raw)) == 43
    assert sha256_b64url(b"") == "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"
