"""The catalogue of claims: complete, published as JSON Schema, and checked as it is published."""

import re
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from attestlab.attestations.schemas.catalogue import CATALOGUE, CONTENT_TYPES, SCHEMA_IDS, json_schema
from attestlab.attestations.schemas.claim_types import CLAIM_TYPES, COUNTRY_CODES, TRAVEL_CODES
from attestlab.attestations.schemas.validation import check_claims
from attestlab.core.countries import ALPHA_2, ALPHA_3
from attestlab.core.errors import NotFound, ValidationFailed
from support.claims import INVALID_CLAIMS, VALID_CLAIMS, claim_type_name, make_claims
from support.property_tests import examples

# The specification's own table, so that a claim lost or renamed in ours is noticed here.
SPECIFIED = """
verifiable-id | full_name, employee_id, department, title, start_date
passport | full_name, nationality, passport_number, date_of_birth, expiry_date, issuing_country
drivers-license | full_name, license_number, state, class, expiry_date, date_of_birth
government-id | full_name, id_number, id_type, issuing_authority, country, expiry_date
self-sovereign-id | did, display_name, created_at
employment-verification | employee_name, employer, position, department, employment_type, start_date, end_date
professional-role | full_name, title, organization, department, effective_date
membership-card | member_name, organization, membership_id, tier, valid_from, valid_to
professional-certification | holder_name, certification_name, issuing_body, certification_id, issued_date, expiry_date
license | holder_name, license_type, license_number, issuing_authority, jurisdiction, issued_date, expiry_date
accreditation | entity_name, accreditation_body, standard, scope, valid_from, valid_to
degree | student_name, institution, degree_type, field_of_study, graduation_date, honors
completion-cert | participant_name, program_name, institution, completion_date, hours
course-credit | student_name, course_name, institution, credits, grade, semester
transcript | student_name, institution, program, gpa, total_credits, issue_date
micro-credential | earner_name, credential_name, issuer, skills, earned_date
training-completion | trainee_name, training_program, provider, completion_date, score, certificate_id
medical-license | practitioner_name, license_number, specialty, state, issued_date, expiry_date
dea-registration | registrant_name, dea_number, schedules, business_activity, expiry_date
board-certification | physician_name, board, specialty, certification_date, expiry_date
health-credential | patient_name, credential_type, provider, date, details
vaccination-record | patient_name, vaccine_name, manufacturer, lot_number, date_administered, dose_number, site
aml-kyc | entity_name, check_type, result, risk_level, verified_by, verified_at
security-clearance | holder_name, clearance_level, granting_agency, granted_date, expiry_date
sam-gov | entity_name, cage_code, uei, registration_status, expiry_date
jurisdiction-approval | entity_name, jurisdiction, approval_type, approved_date, conditions
attestation-of-will | declarant_name, declaration, witness, date
bank-verification | account_holder, bank_name, account_type, routing_number_last4, verified_date
credit-attestation | entity_name, credit_score_range, reporting_agency, assessment_date
income-verification | individual_name, employer, annual_income_range, verification_date, tax_year
skill-badge | earner_name, skill_name, proficiency_level, assessed_by, earned_date
competency | individual_name, competency, level, assessor, assessment_date
industry-cert | holder_name, certification, issuing_body, cert_id, issued_date, expiry_date
product-authenticity | product_name, sku, serial_number, manufacturer, manufactured_date, origin_country
chain-of-custody | item_description, from_entity, to_entity, transfer_date, location, condition
origin-verification | product_name, origin_country, origin_region, certifying_body, verified_date
custom | subject, type, details
attestation | subject, claim, evidence
"""


def specified() -> dict[str, list[str]]:
    """Schema id to claim names, as the specification lists them."""
    rows = (line.split(" | ") for line in SPECIFIED.strip().splitlines())
    return {schema_id: names.split(", ") for schema_id, names in rows}


def pattern(validator: Any, wanted: str, value: Any, schema: Any) -> Any:
    """The keyword with ECMA-262's `$`, which is the very end; Python's also stands before a last newline."""
    if isinstance(value, str) and not re.search(wanted.replace("$", r"\Z"), value):
        yield ValidationError(f"{value!r} does not match {wanted!r}")


Judge = extend(Draft202012Validator, {"pattern": pattern})
JUDGES = {
    schema_id: Judge(json_schema(schema_id), format_checker=Draft202012Validator.FORMAT_CHECKER)
    for schema_id in SCHEMA_IDS
}


def judged(schema_id: str, claims: dict[str, Any]) -> set[str]:
    """The claims at fault, as the published schema and a library that is not ours see them."""
    faults = set()
    for error in JUDGES[schema_id].iter_errors(claims):
        faults.add(str(error.absolute_path[0]) if error.absolute_path else CATALOGUE[schema_id].required_claim)
    return faults


def refused_claims(schema_id: str, claims: Any) -> set[str]:
    """The claims at fault, as our checker sees them."""
    try:
        check_claims(schema_id, claims)
    except ValidationFailed as error:
        return {error.field.split("/")[2] for error in error.fields}
    return set()


def anything() -> st.SearchStrategy[Any]:
    """Any JSON value, small."""
    scalars = st.none() | st.booleans() | st.integers(-3000, 3000) | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        scalars | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_leaves=4,
    )


def about(kind: str) -> st.SearchStrategy[Any]:
    """Values of a kind, values just outside of it, and anything else."""
    outside: dict[str, st.SearchStrategy[Any]] = {
        "date": st.dates().map(str) | st.from_regex(r"[0-9]{4}-[0-3][0-9]-[0-3][0-9]\n?", fullmatch=True),
        "moment": st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)).map(
            datetime.isoformat
        ),
        "country": st.sampled_from(sorted(COUNTRY_CODES)) | st.text("ADNORZ", min_size=1, max_size=3),
        "travel_country": st.sampled_from(sorted(TRAVEL_CODES)) | st.text("ADNORX", min_size=1, max_size=3),
        "did": st.from_regex(r"did:[a-z]{0,3}:[a-z:%0-9A-F.]{0,9}\n?", fullmatch=True),
        "last4": st.from_regex(r"\d{3,5}\n?", fullmatch=True),
        "year": st.from_regex(r"\d{4}([-/][0-9]{1,4})?\n?", fullmatch=True),
        "quantity": st.floats(-1, 5),
        "ordinal": st.integers(-1, 3) | st.sampled_from([0.0, 1.0, 1.5]),
        "document": st.fixed_dictionaries({"sha256": st.from_regex(r"[0-9a-fA-F]{63,65}\n?", fullmatch=True)}),
        "texts": st.lists(st.text(max_size=3), max_size=3),
        "name": st.text(" \t\n\x1c\u00a0\u2003a", max_size=3),
    }
    known = st.sampled_from(VALID_CLAIMS[kind] + INVALID_CLAIMS[kind])
    return st.one_of(known, anything(), *([outside[kind]] if kind in outside else []))


def claims_about(schema_id: str) -> st.SearchStrategy[dict[str, Any]]:
    """Claims of one schema: some left out, some wrong, some that the schema does not know."""
    known = {claim: about(claim_type_name(schema_id, claim)) for claim in CATALOGUE[schema_id].claim_types}
    further = st.dictionaries(st.text(max_size=4).filter(lambda name: name not in known), anything(), max_size=2)
    return st.tuples(st.fixed_dictionaries({}, optional=known), further).map(lambda parts: {**parts[0], **parts[1]})


def test_the_catalogue_has_every_specified_claim_in_its_order():
    """
    Names and order are the specification's; `document` comes last and is known to every schema.
    """
    ours = {schema_id: list(schema.claim_types) for schema_id, schema in CATALOGUE.items()}

    assert len(ours) == 38
    assert ours == {schema_id: [*names, "document"] for schema_id, names in specified().items()}


def test_the_eleven_content_types_are_the_specified_ones():
    assert CONTENT_TYPES == (
        "application/pdf", "application/json", "image/png", "image/jpeg", "image/webp", "image/tiff",
        "video/mp4", "video/webm", "audio/mpeg", "audio/wav", "application/octet-stream",
    )  # fmt: skip


def test_every_claim_type_is_used_and_has_examples():
    used = {
        claim_type_name(schema_id, claim) for schema_id, schema in CATALOGUE.items() for claim in schema.claim_types
    }

    assert used == set(CLAIM_TYPES) == set(VALID_CLAIMS) == set(INVALID_CLAIMS)


@pytest.mark.parametrize("schema_id", SCHEMA_IDS)
def test_every_schema_is_published_as_json_schema_2020_12(schema_id: str):
    """
    The first claim is required, further ones are welcome, and each says what it wants.
    """
    document = json_schema(schema_id)

    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["$id"] == f"urn:attestlab:schema:{schema_id}"
    assert document["required"] == specified()[schema_id][:1]
    assert document["additionalProperties"] is True
    assert all(claim["description"] for claim in document["properties"].values())


def test_unknown_schema_is_not_found():
    with pytest.raises(NotFound):
        json_schema("diploma")


@pytest.mark.parametrize("schema_id", SCHEMA_IDS)
def test_typical_claims_are_valid_without_warnings(schema_id: str):
    assert check_claims(schema_id, make_claims(schema_id)) == []
    assert judged(schema_id, make_claims(schema_id)) == set()


@pytest.mark.parametrize("kind", CLAIM_TYPES)
def test_claim_type_accepts_only_its_values(kind: str):
    """
    The predicate and the published schema are two ways of saying one thing.
    """
    schema_id, claim = next(
        (s, c) for s, schema in CATALOGUE.items() for c in schema.claim_types if claim_type_name(s, c) == kind
    )

    for value in VALID_CLAIMS[kind]:
        assert refused_claims(schema_id, {**make_claims(schema_id), claim: value}) == set(), value
        assert judged(schema_id, {**make_claims(schema_id), claim: value}) == set(), value
    for value in INVALID_CLAIMS[kind]:
        assert refused_claims(schema_id, {**make_claims(schema_id), claim: value}) == {claim}, value
        assert judged(schema_id, {**make_claims(schema_id), claim: value}) == {claim}, value


@pytest.mark.more_in_soak
@pytest.mark.parametrize("schema_id", SCHEMA_IDS)
def test_validation_agrees_with_the_published_schema(schema_id: str):
    """
    `jsonschema` with format checking is the judge: on any claims both name the same ones.
    """

    @given(claims=claims_about(schema_id))
    @settings(max_examples=examples(15, many=40), deadline=None)
    def agree(claims: dict[str, Any]) -> None:
        assert refused_claims(schema_id, claims) == judged(schema_id, claims)

    agree()


def test_every_date_claim_has_a_date_type():
    """
    So is every other claim that the specification names for a moment; nothing else is.
    """
    named = {"valid_from", "valid_to", "created_at", "verified_at", "date_of_birth", "date_administered"}
    days = {c for schema in CATALOGUE.values() for c in schema.claim_types if c.endswith("date") or c in named}

    assert {
        c
        for s, schema in CATALOGUE.items()
        for c in schema.claim_types
        if claim_type_name(s, c) in {"date", "end", "moment"}
    } == days


def test_quantities_are_numbers_and_countries_are_codes():
    """
    Where the type is certain it is checked: these claims, and no others.
    """
    found: dict[str, set[str]] = {}
    for schema_id, schema in CATALOGUE.items():
        for claim in schema.claim_types:
            found.setdefault(claim_type_name(schema_id, claim), set()).add(claim)

    assert found["quantity"] | found["number"] == {"hours", "credits", "gpa", "total_credits", "score"}
    assert found["ordinal"] == {"dose_number"}
    assert found["country"] == {"country", "origin_country"}
    assert found["travel_country"] == {"nationality", "issuing_country"}


def test_the_country_codes_are_those_of_the_tz_database():
    """
    An outside copy of ISO 3166-1; three letters have none here, but each two have their own three.
    """
    table = files("tzdata").joinpath("zoneinfo", "iso3166.tab").read_text("utf-8")

    assert {line[:2] for line in table.splitlines() if not line.startswith("#")} == ALPHA_2
    assert len(ALPHA_3) == len(ALPHA_2) == 249
    assert all(re.fullmatch("[A-Z]{3}", code) for code in ALPHA_3)
