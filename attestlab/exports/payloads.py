"""Payloads of exports, with the member names of their standards; this module neither decides nor signs.

W3C VC Data Model 2.0, Bitstring Status List v1.0, SD-JWT VC (draft-ietf-oauth-sd-jwt-vc), Open Badges 3.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from attestlab.attestations.evidence_queries import CurrentIssuer
from attestlab.attestations.tables import AttestationRecord
from attestlab.exports import rules
from attestlab.exports.badges import Achievement
from attestlab.exports.sd_jwt import ALGORITHM
from attestlab.log.entries import sha256_name
from attestlab.log.merkle.hashing import leaf_hash

CREDENTIALS: Final = "https://www.w3.org/ns/credentials/v2"
OPEN_BADGES: Final = "https://purl.imsglobal.org/spec/ob/v3p0/context-3.0.3.json"
_BADGE_SCHEMA: Final = "https://purl.imsglobal.org/spec/ob/v3p0/schema/json/ob_v3p0_achievementcredential_schema.json"


class ExportableAttestation(NamedTuple):
    """A VALID attestation of an ACTIVE issuer, with its log entry."""

    attestation: AttestationRecord
    issuer: CurrentIssuer
    entry: bytes


def status_list(url: str, *, issuer: str, encoded_list: str, hour: datetime) -> dict[str, object]:
    """A BitstringStatusListCredential of the hour that has begun."""
    until = hour + rules.STATUS_LIST_MAX_AGE
    return {
        "@context": [CREDENTIALS],
        "id": url,
        "type": ["VerifiableCredential", "BitstringStatusListCredential"],
        "issuer": issuer,
        "validFrom": rules.format_whole_seconds(hour),
        "validUntil": rules.format_whole_seconds(until),
        "credentialSubject": {
            "id": f"{url}#list",
            "type": "BitstringStatusList",
            "statusPurpose": rules.PURPOSE,
            "encodedList": encoded_list,
            "ttl": int(rules.TTL.total_seconds() * 1000),
        },
        "iss": issuer,
        "iat": rules.numeric_date(hour),
        "exp": rules.numeric_date(until),
    }


def sd_jwt(
    exported: ExportableAttestation,
    concealed: Mapping[str, object],
    *,
    issuer: str,
    status_list: str,
    log_id: str,
) -> dict[str, object]:
    """The payload of an SD-JWT VC; it has `exp` only if the attestation expires."""
    row = exported.attestation
    ends = {} if row.expiry_at is None else {"exp": rules.numeric_date(row.expiry_at)}
    return {
        "iss": issuer,
        "iat": rules.numeric_date(row.created_at),
        **ends,
        "vct": f"urn:attestlab:schema:{row.schema_id}",
        "credentialStatus": rules.status_entry(status_list, row.log_index),
        "attestation": _log_reference(exported, log_id),
        "_sd_alg": ALGORITHM,
        **concealed,
    }


def _log_reference(exported: ExportableAttestation, log_id: str) -> dict[str, object]:
    """The reference to the log entry, so that the export can be checked against the log."""
    row = exported.attestation
    return {
        "id": str(row.id),
        "kid": row.kid,
        "log_id": log_id,
        "log_index": row.log_index,
        "leaf_hash": sha256_name(leaf_hash(exported.entry)),
    }


def open_badge(
    exported: ExportableAttestation,
    awarded: Achievement,
    *,
    issuer: str,
    page: str,
    image: str | None,
    status_list: str,
    log_id: str,
) -> dict[str, object]:
    """An OpenBadgeCredential with the claims that its JWT form repeats ("Create the JWT Payload").

    Badge software compares `nbf` with `validFrom`, and `exp` with `validUntil`: whole seconds both.
    """
    row = exported.attestation
    identity, earner = f"urn:uuid:{row.id}", f"{page}#earner"
    credential: dict[str, object] = {
        "@context": [CREDENTIALS, OPEN_BADGES],
        "id": identity,
        "type": ["VerifiableCredential", "OpenBadgeCredential"],
        "name": awarded.achievement["name"],
        "issuer": _profile(exported.issuer, issuer, image),
        "validFrom": rules.format_whole_seconds(row.created_at),
        "credentialSubject": _subject(awarded, earner),
        "credentialStatus": rules.status_entry(status_list, row.log_index),
        "credentialSchema": [{"id": _BADGE_SCHEMA, "type": "1EdTechJsonSchemaValidator2019"}],
        "evidence": [_log_evidence(exported, page, log_id)],
        "iss": issuer,
        "jti": identity,
        "nbf": rules.numeric_date(row.created_at),
        "sub": earner,
    }
    if row.expiry_at is not None:
        credential |= {
            "validUntil": rules.format_whole_seconds(row.expiry_at),
            "exp": rules.numeric_date(row.expiry_at),
        }
    return credential


def _profile(issuer: CurrentIssuer, url: str, image: str | None) -> dict[str, object]:
    profile: dict[str, object] = {
        "id": url,
        "type": ["Profile"],
        "name": issuer.shown_name,
        "url": f"https://{issuer.domain}",
    }
    if image is not None:
        profile["image"] = {"id": image, "type": "Image"}
    return profile


def _subject(awarded: Achievement, earner: str) -> dict[str, object]:
    """The earner, identified by name and by the public page, since neither a key nor an account is known."""
    named = {"type": "IdentityObject", "hashed": False, "identityHash": awarded.earner, "identityType": "name"}
    narrative = {} if awarded.narrative is None else {"narrative": awarded.narrative}
    return {
        "id": earner,
        "type": ["AchievementSubject"],
        "identifier": [named],
        "achievement": awarded.achievement,
        **narrative,
    }


def _log_evidence(exported: ExportableAttestation, page: str, log_id: str) -> dict[str, object]:
    leaf = sha256_name(leaf_hash(exported.entry))
    return {
        "id": page,
        "type": ["Evidence"],
        "name": "Transparency log",
        "description": f"Entry {exported.attestation.log_index} of the log {log_id}, leaf hash {leaf}.",
    }
