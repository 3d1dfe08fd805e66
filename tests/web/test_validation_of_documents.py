"""A part of a body that was parsed already is validated by the same rules as its text."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.attestations.shapes import MintIn
from attestlab.core.errors import ValidationFailed
from attestlab.web.validation import validate_body, validate_document
from support.property_tests import examples

VALID = {
    "issuer_id": "00000000-0000-0000-0000-000000000001",
    "kid": "k",
    "alg": "Ed25519",
    "schema": "degree",
    "claims": {"student_name": "Ada", "grades": [1, 2.5, None, True]},
}
MORE = {"expiry_at": "2027-01-01T00:00:00Z", "content_type": "image/png", "expiry_from_claims": True, "unknown": 1}

plain = st.sampled_from([None, True, 0, 1.5, 10**15, "", "x", "ES256", "2026-13-01T00:00:00Z", "a" * 300])
json_values = plain | st.lists(plain, max_size=2) | st.dictionaries(st.sampled_from("ab"), plain, max_size=2)
bodies = st.fixed_dictionaries(
    {}, optional={name: st.just(value) | json_values for name, value in {**VALID, **MORE}.items()}
)


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=1000), deadline=None)
@given(bodies | json_values)
def test_a_parsed_document_is_judged_as_its_text(document: Any) -> None:
    text = json.dumps(document).encode()

    assert judge(validate_document, document) == judge(partial(validate_text, text), document)


def validate_text(text: bytes, model: Any, document: Any) -> Any:
    return validate_body(model, text, document)


def judge(validate: Any, document: Any) -> object:
    try:
        return validate(MintIn, document)
    except ValidationFailed as error:
        return error.message, error.fields


def test_a_valid_document_is_read() -> None:
    assert validate_document(MintIn, VALID).claims == VALID["claims"]


@pytest.mark.parametrize("document", [[], "x", 5, None])
def test_a_document_that_is_wrong_as_a_whole_has_no_place(document: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        validate_document(MintIn, document)

    (fault,) = caught.value.fields
    assert fault.field == ""
    assert caught.value.message == f"The body is not valid: {fault.message}"
