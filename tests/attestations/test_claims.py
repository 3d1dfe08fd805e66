"""What happens to claims at a mint: faults are named, further claims are kept, the end of validity is read."""

from datetime import UTC, datetime
from typing import Any

import pytest

from attestlab.attestations.schemas.catalogue import CATALOGUE, SCHEMA_IDS
from attestlab.attestations.schemas.validation import check_claims, expiry_from_claims
from attestlab.core.errors import ValidationFailed
from support.claims import HASH


def test_each_error_has_pointer_code_and_remedy():
    """
    All faults at once, so that one correction is enough.
    """
    with pytest.raises(ValidationFailed) as caught:
        check_claims("transcript", {"gpa": "high", "issue_date": "31.05.2026", "program": "Physics"})

    assert [(fault.field, fault.code) for fault in caught.value.fields] == [
        ("/claims/student_name", "missing"),
        ("/claims/gpa", "not_a_quantity"),
        ("/claims/issue_date", "not_a_date"),
    ]
    assert "issue_date must be a calendar day such as 2026-05-31." in caught.value.message


def test_error_never_contains_the_claimed_value():
    """
    Claims are private; messages end up in logs.
    """
    with pytest.raises(ValidationFailed) as caught:
        check_claims("passport", {"full_name": "Ada", "date_of_birth": "born in secret", "nationality": "Ruritania"})

    said = repr((caught.value.message, caught.value.details))
    assert "secret" not in said
    assert "Ruritania" not in said


@pytest.mark.parametrize("claims", [None, [], "Ada", 7, True])
def test_claims_are_an_object(claims: object):
    with pytest.raises(ValidationFailed) as caught:
        check_claims("degree", claims)

    assert [(fault.field, fault.code) for fault in caught.value.fields] == [("/claims", "not_an_object")]


def test_empty_claims_lack_the_required_claim():
    with pytest.raises(ValidationFailed) as caught:
        check_claims("degree", {})

    assert [(fault.field, fault.code) for fault in caught.value.fields] == [("/claims/student_name", "missing")]


def test_error_suggests_the_nearest_schema():
    with pytest.raises(ValidationFailed) as caught:
        check_claims("degre", {"student_name": "Ada"})

    assert [(fault.field, fault.code) for fault in caught.value.fields] == [("/schema", "unknown_schema")]
    assert "Did you mean degree?" in caught.value.message


def test_unknown_claims_are_listed_in_one_warning():
    """
    However many there are, the answer grows no faster than the request did.
    """
    warnings = check_claims("degree", {"student_name": "Ada", "nickname": "A", "shoe_size": {"eu": 38}})

    assert warnings == ["Stored, but not defined by schema degree: nickname, shoe_size."]


def test_invalid_document_hash_is_rejected_with_its_pointer():
    with pytest.raises(ValidationFailed) as caught:
        check_claims("custom", {"subject": "s", "document": {"sha256": HASH.upper()}})

    assert [(fault.field, fault.code) for fault in caught.value.fields] == [("/claims/document/sha256", "sha256_hex")]


@pytest.mark.parametrize(
    ("schema_id", "claim"),
    [(s, c) for s in SCHEMA_IDS for c in ("expiry_date", "valid_to") if c in CATALOGUE[s].claim_types],
)
def test_expiry_claim_lasts_until_the_end_of_its_day(schema_id: str, claim: str):
    assert expiry_from_claims(schema_id, {claim: "2030-06-30"}) == datetime(2030, 6, 30, 23, 59, 59, 999_000, UTC)


@pytest.mark.parametrize(
    ("schema_id", "claims"),
    [
        ("degree", {"expiry_date": "2030-06-30"}),
        ("membership-card", {"expiry_date": "2030-06-30"}),
        ("passport", {}),
        ("license", {"expiry_date": None}),
    ],
)
def test_no_expiry_without_an_expiry_claim(schema_id: str, claims: dict[str, Any]):
    assert expiry_from_claims(schema_id, claims) is None


def test_warning_lists_twenty_unknown_claims_and_counts_the_rest() -> None:
    claims = {"student_name": "Ada", "n" * 1000: 1, **{f"k{number:05d}": 1 for number in range(75_000)}}

    (warning,) = check_claims("degree", claims)

    assert warning.endswith(", k00018 and 74,981 more.")
    assert "n" * 64 + "..., k00000" in warning
    assert len(warning) < 500
