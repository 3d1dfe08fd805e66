"""Credential schema catalogue (SPEC, Credential schema catalogue), and the content types that a mint may name.

The table below is the only place that assigns types to claims. `claim_types` defines the types, `validation` checks
claims against them, and `json_schema` publishes them as JSON Schema 2020-12. A claim without a type is text. The first
claim is required and must not be blank. Every schema has the claim `document`, because `claims.document.sha256` is the
first source of a document's hash (SPEC, Document hash).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from attestlab.attestations.schemas.claim_types import CLAIM_TYPES, COUNTRY_CODES, ClaimType, JsonSchema
from attestlab.core.errors import NotFound


class ContentType(StrEnum):
    """Content type of the attested file; the generic binary type covers every type that is not listed."""

    PDF = "application/pdf"
    JSON = "application/json"
    PNG = "image/png"
    JPEG = "image/jpeg"
    WEBP = "image/webp"
    TIFF = "image/tiff"
    MP4 = "video/mp4"
    WEBM = "video/webm"
    MP3 = "audio/mpeg"
    WAV = "audio/wav"
    BINARY = "application/octet-stream"


CONTENT_TYPES: Final[tuple[str, ...]] = tuple(ContentType)


@dataclass(frozen=True)
class ClaimSchema:
    """A schema of the catalogue: its id, and its claims with their types in the specification's order."""

    id: str
    title: str
    claim_types: dict[str, ClaimType]

    @property
    def required_claim(self) -> str:
        """The required claim, which is the first one."""
        return next(iter(self.claim_types))

    @property
    def expiry_claim(self) -> str | None:
        """The claim that holds the credential's expiry date; None if the schema has none."""
        return next((name for name in ("expiry_date", "valid_to") if name in self.claim_types), None)


def _schema(schema_id: str, title: str, claims: str) -> ClaimSchema:
    claim_types: dict[str, ClaimType] = {}
    for spec in claims.split():
        name, _, type_name = spec.partition(":")
        claim_types[name] = CLAIM_TYPES[type_name or ("text" if claim_types else "name")]
    claim_types["document"] = CLAIM_TYPES["document"]
    return ClaimSchema(schema_id, title, claim_types)


# Order and names are the specification's. `expiry_date` is a `date` where the document always names a day, and an
# `end` (null allowed) where the credential may be valid for life.
_SCHEMAS: Final = (
    # Identity
    _schema("verifiable-id", "Verifiable ID", "full_name employee_id:identifier department title start_date:date"),
    _schema(
        "passport",
        "Passport",
        "full_name nationality:travel_country passport_number:identifier date_of_birth:date expiry_date:date"
        " issuing_country:travel_country",
    ),
    _schema(
        "drivers-license",
        "Driver's license",
        "full_name license_number:identifier state class:texts expiry_date:date date_of_birth:date",
    ),
    _schema(
        "government-id",
        "Government ID",
        "full_name id_number:identifier id_type issuing_authority country:country expiry_date:end",
    ),
    _schema("self-sovereign-id", "Self-sovereign ID", "did:did display_name created_at:moment"),
    # Work
    _schema(
        "employment-verification",
        "Employment verification",
        "employee_name employer position department employment_type start_date:date end_date:end",
    ),
    _schema("professional-role", "Professional role", "full_name title organization department effective_date:date"),
    _schema(
        "membership-card",
        "Membership card",
        "member_name organization membership_id:identifier tier:grade valid_from:date valid_to:end",
    ),
    _schema(
        "professional-certification",
        "Professional certification",
        "holder_name certification_name issuing_body certification_id:identifier issued_date:date expiry_date:end",
    ),
    _schema(
        "license",
        "License",
        "holder_name license_type license_number:identifier issuing_authority jurisdiction issued_date:date"
        " expiry_date:end",
    ),
    _schema(
        "accreditation",
        "Accreditation",
        "entity_name accreditation_body standard:texts scope:texts valid_from:date valid_to:end",
    ),
    # Education
    _schema(
        "degree",
        "Degree",
        "student_name institution degree_type field_of_study:texts graduation_date:date honors:texts",
    ),
    _schema(
        "completion-cert",
        "Certificate of completion",
        "participant_name program_name institution completion_date:date hours:quantity",
    ),
    _schema(
        "course-credit",
        "Course credit",
        "student_name course_name institution credits:quantity grade:grade semester:grade",
    ),
    _schema(
        "transcript",
        "Transcript",
        "student_name institution program gpa:quantity total_credits:quantity issue_date:date",
    ),
    _schema("micro-credential", "Micro-credential", "earner_name credential_name issuer skills:texts earned_date:date"),
    _schema(
        "training-completion",
        "Training completion",
        "trainee_name training_program provider completion_date:date score:number certificate_id:identifier",
    ),
    # Health
    _schema(
        "medical-license",
        "Medical license",
        "practitioner_name license_number:identifier specialty:texts state issued_date:date expiry_date:date",
    ),
    _schema(
        "dea-registration",
        "DEA registration",
        "registrant_name dea_number:identifier schedules:texts business_activity expiry_date:date",
    ),
    _schema(
        "board-certification",
        "Board certification",
        "physician_name board specialty:texts certification_date:date expiry_date:end",
    ),
    _schema("health-credential", "Health credential", "patient_name credential_type provider date:date details:json"),
    _schema(
        "vaccination-record",
        "Vaccination record",
        "patient_name vaccine_name manufacturer lot_number:identifier date_administered:date dose_number:ordinal site",
    ),
    # Compliance
    _schema(
        "aml-kyc", "AML/KYC check", "entity_name check_type result risk_level:grade verified_by verified_at:moment"
    ),
    _schema(
        "security-clearance",
        "Security clearance",
        "holder_name clearance_level:grade granting_agency granted_date:date expiry_date:end",
    ),
    _schema(
        "sam-gov",
        "SAM.gov registration",
        "entity_name cage_code:identifier uei:identifier registration_status expiry_date:date",
    ),
    _schema(
        "jurisdiction-approval",
        "Jurisdiction approval",
        "entity_name jurisdiction:texts approval_type approved_date:date conditions:texts",
    ),
    _schema("attestation-of-will", "Attestation of will", "declarant_name declaration witness:texts date:date"),
    # Finance
    _schema(
        "bank-verification",
        "Bank account verification",
        "account_holder bank_name account_type routing_number_last4:last4 verified_date:date",
    ),
    _schema(
        "credit-attestation",
        "Credit attestation",
        "entity_name credit_score_range reporting_agency assessment_date:date",
    ),
    _schema(
        "income-verification",
        "Income verification",
        "individual_name employer annual_income_range verification_date:date tax_year:year",
    ),
    # Skills
    _schema(
        "skill-badge", "Skill badge", "earner_name skill_name proficiency_level:grade assessed_by earned_date:date"
    ),
    _schema("competency", "Competency", "individual_name competency level:grade assessor assessment_date:date"),
    _schema(
        "industry-cert",
        "Industry certificate",
        "holder_name certification issuing_body cert_id:identifier issued_date:date expiry_date:end",
    ),
    # Goods
    _schema(
        "product-authenticity",
        "Product authenticity",
        "product_name sku:identifier serial_number:identifier manufacturer manufactured_date:date"
        " origin_country:country",
    ),
    _schema(
        "chain-of-custody",
        "Chain of custody",
        "item_description from_entity to_entity transfer_date:moment location:place condition",
    ),
    _schema(
        "origin-verification",
        "Origin verification",
        "product_name origin_country:country origin_region certifying_body verified_date:date",
    ),
    # Anything else
    _schema("custom", "Custom", "subject:subject type details:json"),
    _schema("attestation", "Attestation", "subject:subject claim:json evidence:json"),
)

CATALOGUE: Final[dict[str, ClaimSchema]] = {row.id: row for row in _SCHEMAS}
SCHEMA_IDS: Final[tuple[str, ...]] = tuple(CATALOGUE)


def json_schema(schema_id: str) -> JsonSchema:
    """Build the JSON Schema 2020-12 document for the claims of one schema; validators should assert its formats.

    Raises:
        NotFound: the catalogue has no schema with this id.
    """
    schema = CATALOGUE.get(schema_id)
    if schema is None:
        raise NotFound("schema", schema_id)
    document: JsonSchema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:attestlab:schema:{schema.id}",
        "title": schema.title,
        "description": f"Claims of schema {schema.id}. Further claims are kept, and named in the answer's warnings.",
        "type": "object",
        "properties": {
            name: {"description": claim_type.expected, **claim_type.schema}
            for name, claim_type in schema.claim_types.items()
        },
        "required": [schema.required_claim],
        "additionalProperties": True,
    }
    if any(claim_type.code == "not_a_country" for claim_type in schema.claim_types.values()):
        document["$defs"] = {"country": {"type": "string", "enum": sorted(COUNTRY_CODES)}}
    return document
