"""Open Badges 3.0: verified as its section "JSON Web Token Proof Format" says, with packages of others."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest

from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import b64url_encode, format_time
from attestlab.exports.badges import BADGES
from attestlab.installation import Installation
from support.exports import (
    BADGE_CLAIMS,
    decode_jws_part,
    fetch_status_list,
    mint_attestation,
    read_refusal,
    verify_badge,
)
from support.issuers import register_issuer

pytestmark = [pytest.mark.one_world, pytest.mark.filterwarnings("ignore:EdDSA is deprecated via RFC 9864")]
# What the data model of the standard demands of each class, written down from it: the members, and the type.
REQUIRED: dict[str, set[str]] = {
    "OpenBadgeCredential": {"@context", "id", "type", "name", "issuer", "validFrom", "credentialSubject"},
    "Profile": {"id", "type"},
    "AchievementSubject": {"type", "achievement", "id"},
    "Achievement": {"id", "type", "name", "description", "criteria"},
    "IdentityObject": {"type", "hashed", "identityHash", "identityType"},
    "BitstringStatusListEntry": {"id", "type", "statusPurpose", "statusListIndex", "statusListCredential"},
    "Evidence": {"type"},
    "Image": {"id", "type"},
    "1EdTechJsonSchemaValidator2019": {"id", "type"},
}
ALLOWED_TYPES = {
    "Badge",
    "Certification",
    "CertificateOfCompletion",
    "Competency",
    "Course",
    "Degree",
    "MicroCredential",
}


def exported(client: httpx.Client, made: dict[str, Any]) -> str:
    answer = client.get(f"/v1/attestations/{made['id']}/open-badge")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/vc+jwt"), answer.text
    return answer.text


def missing(value: Any) -> list[tuple[str, str]]:
    """What an object, and those within it, lack of what their class demands."""
    if isinstance(value, list):
        return [fault for item in value for fault in missing(item)]
    if not isinstance(value, dict):
        return []
    types = value.get("type", [])
    named = [name for name in ([types] if isinstance(types, str) else types) if name in REQUIRED]
    own = [(name, member) for name in named for member in sorted(REQUIRED[name] - set(value))]
    return own + [fault for inner in value.values() for fault in missing(inner)]


def jwt_faults(badge: dict[str, Any]) -> list[str]:
    """The steps of "Verify a Credential VC-JWT Signature": what the claims of the JWT repeat."""
    said = {
        "iss": badge["issuer"]["id"],
        "sub": badge["credentialSubject"]["id"],
        "jti": badge["id"],
        "nbf": datetime.fromisoformat(badge["validFrom"]).timestamp(),
    }
    if "validUntil" in badge:
        said["exp"] = datetime.fromisoformat(badge["validUntil"]).timestamp()
    return [name for name in ("iss", "sub", "jti", "nbf", "exp") if badge.get(name) != said.get(name)]


@pytest.mark.parametrize("schema", BADGE_CLAIMS)
def test_an_attestation_of_each_badge_like_schema_is_a_badge(
    owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any], schema: str
) -> None:
    made = mint_attestation(owner, issuer, schema=schema, claims=BADGE_CLAIMS[schema])

    badge = verify_badge(stranger, exported(owner, made))

    assert missing(badge) == []
    assert jwt_faults(badge) == []
    assert badge["@context"] == [
        "https://www.w3.org/ns/credentials/v2",
        "https://purl.imsglobal.org/spec/ob/v3p0/context-3.0.3.json",
    ]
    assert badge["type"] == ["VerifiableCredential", "OpenBadgeCredential"]
    achievement = badge["credentialSubject"]["achievement"]
    assert achievement["name"] == badge["name"] == "Rust"
    assert achievement["achievementType"] in ALLOWED_TYPES
    assert achievement["criteria"]["narrative"]
    (named,) = badge["credentialSubject"]["identifier"]
    assert (named["identityType"], named["identityHash"], named["hashed"]) == ("name", "Ada Lovelace", False)


def test_the_table_of_badges_names_claims_that_the_catalogue_has() -> None:
    assert set(BADGES) == set(BADGE_CLAIMS)
    for schema, kind in BADGES.items():
        claims = CATALOGUE[schema]
        named = [kind.earner, kind.name, *kind.criteria, *kind.personal]
        assert kind.earner == claims.required_claim
        assert sorted(named) == sorted(set(claims.claim_types) - {"document", "expiry_date"}), schema


def test_the_header_has_nothing_but_what_the_standard_allows(
    lab: Installation, owner: httpx.Client, issuer: dict[str, Any]
) -> None:
    token = exported(owner, mint_attestation(owner, issuer))

    assert decode_jws_part(token, 0) == {
        "alg": "EdDSA",
        "kid": f"{lab.portal_url}/v1/issuers/{issuer['id']}/keys/main/jwk.json",
        "typ": "JWT",
    }


def test_rs256_key_is_preferred(owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any]) -> None:
    """
    The one algorithm that every verifier of badges must know; and an answer that is the same each time.
    """
    owner.post(f"/v1/issuers/{issuer['id']}/keys", json={"kid": "for-badges", "alg": "RS256"})
    made = mint_attestation(owner, issuer)

    token = exported(owner, made)

    assert decode_jws_part(token, 0)["alg"] == "RS256"
    assert verify_badge(stranger, token)["name"] == "MSc"
    assert exported(owner, made) == token


def test_personal_claims_are_not_criteria(owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any]) -> None:
    """
    Two earners of one course have one achievement; their grades stand beside it.
    """
    claims = {"course_name": "Rust", "credits": 6, "institution": "Northfield", "private_note": "was late"}
    tokens = [
        exported(owner, mint_attestation(owner, issuer, schema="course-credit", claims={**claims, **earner}))
        for earner in ({"student_name": "Ada", "grade": 1.3}, {"student_name": "Bob", "grade": 4})
    ]

    subjects = [verify_badge(stranger, token)["credentialSubject"] for token in tokens]

    assert subjects[0]["achievement"] == subjects[1]["achievement"]
    assert subjects[0]["achievement"]["criteria"]["narrative"] == "Institution: Northfield. Credits: 6."
    assert [subject["narrative"] for subject in subjects] == ["Grade: 1.3.", "Grade: 4."]
    assert "late" not in str(subjects)
    harder = mint_attestation(
        owner, issuer, schema="course-credit", claims={**claims, "student_name": "Eve", "credits": 12}
    )
    other = verify_badge(stranger, exported(owner, harder))["credentialSubject"]["achievement"]
    assert (other["name"], other["id"] != subjects[0]["achievement"]["id"]) == ("Rust", True)


@pytest.mark.both_engines
def test_it_leads_to_its_status_and_to_the_log(
    owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any]
) -> None:
    made = mint_attestation(owner, issuer)
    badge = verify_badge(stranger, exported(owner, made))
    status = badge["credentialStatus"]
    before = fetch_status_list(stranger, issuer["id"])

    owner.post(f"/v1/attestations/{made['id']}/revoke", json={"reason": "a test"})

    after = fetch_status_list(stranger, issuer["id"])
    assert before.credential["id"] == status["statusListCredential"] != status["id"]
    assert [found.says(int(status["statusListIndex"])) for found in (before, after)] == [False, True]
    (evidence,) = badge["evidence"]
    (leaf,) = re.findall("sha256:[0-9a-f]{64}", evidence["description"])
    assert stranger.get("/v1/log/lookup", params={"hash": leaf}).json()["entry"]["id"] == made["id"]
    assert read_refusal(owner.get(f"/v1/attestations/{made['id']}/open-badge")) == (409, "CONFLICT", "not_valid")


@pytest.mark.own_world
def test_an_attestation_that_expires_has_its_expiry_in_both_forms(
    clock: FixedClock, owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any]
) -> None:
    clock.advance(timedelta(milliseconds=250))
    made = mint_attestation(owner, issuer, expiry_at=format_time(clock.now() + timedelta(days=36500, milliseconds=500)))

    badge = verify_badge(stranger, exported(owner, made))

    assert (badge["validFrom"], badge["nbf"] % 1) == ("2026-11-21T12:00:00Z", 0)
    assert badge["exp"]
    assert jwt_faults(badge) == []


@pytest.mark.parametrize(
    ("logo", "shown"),
    [
        ("https://northfield.example.edu/crest.svg?v=2", True),
        ("https://northfield.example.edu/crest.webp", False),
        (None, False),
    ],
)
def test_the_profile_has_the_logo_where_it_is_of_an_allowed_kind(
    owner: httpx.Client, stranger: httpx.Client, logo: str | None, shown: bool
) -> None:
    issuer = register_issuer(owner, **({"logo_url": logo} if logo else {}))

    profile = verify_badge(stranger, exported(owner, mint_attestation(owner, issuer)))["issuer"]

    assert (profile["name"], profile["url"]) == ("Northfield University", "https://northfield.example.edu")
    assert profile.get("image") == ({"id": logo, "type": "Image"} if shown else None)


@pytest.mark.parametrize(
    ("upload", "shown"),
    [(b"\x89PNG\r\n\x1a\n", True), (b"\xff\xd8\xff", False)],
    ids=["PNG", "JPEG"],
)
def test_an_uploaded_logo_is_judged_by_what_it_is(
    owner: httpx.Client, stranger: httpx.Client, issuer: dict[str, Any], upload: bytes, shown: bool
) -> None:
    put = owner.put(f"/v1/issuers/{issuer['id']}/logo", json={"content_b64url": b64url_encode(upload)})
    assert put.status_code == 200, put.text

    profile = verify_badge(stranger, exported(owner, mint_attestation(owner, issuer)))["issuer"]

    assert ("image" in profile) == shown


def test_other_schemas_cannot_be_exported_as_badge(owner: httpx.Client, issuer: dict[str, Any]) -> None:
    passport = mint_attestation(owner, issuer, schema="passport", claims={"full_name": "Ada Lovelace"})
    unnamed = mint_attestation(owner, issuer, claims={"student_name": "Ada Lovelace", "degree_type": " "})

    answers = [owner.get(f"/v1/attestations/{made['id']}/open-badge") for made in (passport, unnamed)]

    assert [read_refusal(answer) for answer in answers] == [
        (409, "CONFLICT", "not_a_badge"),
        (409, "CONFLICT", "achievement_not_named"),
    ]
    assert answers[0].json()["details"]["badges"] == list(BADGES)
    assert answers[1].json()["details"]["claim"] == "degree_type"


def test_a_display_name_and_another_issuer_make_another_achievement(lab: Installation, owner: httpx.Client) -> None:
    issuers = [register_issuer(owner, display_name="Northfield"), register_issuer(owner)]

    badges = [decode_jws_part(exported(owner, mint_attestation(owner, issuer)), 1) for issuer in issuers]

    ids = [badge["credentialSubject"]["achievement"]["id"] for badge in badges]
    assert ids[0] != ids[1]
    assert all(UUID(text.removeprefix("urn:uuid:")).version == 5 for text in ids)
    assert [badge["issuer"]["name"] for badge in badges] == ["Northfield", "Northfield University"]
