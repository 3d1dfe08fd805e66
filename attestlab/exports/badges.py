"""Open Badges 3.0 (1EdTech): the schemas that are achievements of a person, and the mapping of their claims.

An achievement is independent of its earner; it has the same id whenever the same issuer attests the
same name under the same criteria. Facts about one earner are in the subject's narrative. Claims that
the table does not name are left out of the badge, since a badge is meant to be public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import Conflict


@dataclass(frozen=True)
class BadgeMapping:
    """Maps the claims of a schema to parts of a badge; `achievement_type` is a term of the standard."""

    achievement_type: str
    earner: str
    name: str
    criteria: tuple[str, ...]
    personal: tuple[str, ...]


_ROWS: Final = """
degree                     Degree                  student_name      degree_type        field_of_study,institution      honors,graduation_date
completion-cert            CertificateOfCompletion participant_name  program_name       institution,hours               completion_date
course-credit              Course                  student_name      course_name        institution,credits             grade,semester
micro-credential           MicroCredential         earner_name       credential_name    issuer,skills                   earned_date
training-completion        CertificateOfCompletion trainee_name      training_program   provider                        score,completion_date,certificate_id
professional-certification Certification           holder_name       certification_name issuing_body                    issued_date,certification_id
board-certification        Certification           physician_name    specialty          board                           certification_date
skill-badge                Badge                   earner_name       skill_name         proficiency_level,assessed_by   earned_date
competency                 Competency              individual_name   competency         level,assessor                  assessment_date
industry-cert              Certification           holder_name       certification      issuing_body                    issued_date,cert_id
"""  # noqa: E501  a table is read by its columns


def _parse_row(row: str) -> tuple[str, BadgeMapping]:
    schema, achievement_type, earner, name, criteria, personal = row.split()
    return schema, BadgeMapping(achievement_type, earner, name, tuple(criteria.split(",")), tuple(personal.split(",")))


BADGES: Final[Mapping[str, BadgeMapping]] = dict(_parse_row(row) for row in _ROWS.strip().splitlines())


@dataclass(frozen=True)
class Achievement:
    """An achievement, its earner, and facts about the earner; `narrative` is None without such facts."""

    earner: str
    achievement: Mapping[str, object]
    narrative: str | None


def achievement_of(schema: str, claims: Mapping[str, object], *, issuer_id: UUID, issuer_name: str) -> Achievement:
    """Build the achievement that an attestation of this schema awards.

    Raises:
        Conflict: the schema is not badge-like, or the claims do not name what was achieved.
    """
    kind = BADGES.get(schema)
    if kind is None:
        raise Conflict(
            f"The schema {schema} cannot be exported as a badge. Badge schemas: {', '.join(BADGES)}.",
            details={"reason": "not_a_badge", "schema": schema, "badges": list(BADGES)},
        )
    name = _claim_text(claims.get(kind.name))
    if not name:
        raise Conflict(
            f"The claims name no achievement: {kind.name} is missing.",
            details={"reason": "achievement_not_named", "claim": kind.name},
        )
    return Achievement(
        earner=_claim_text(claims[kind.earner]),
        achievement=_achievement(schema, kind, name, claims, issuer_id, issuer_name),
        narrative=_sentences(claims, kind.personal) or None,
    )


def is_badge_image(url: str, media_type: str | None) -> bool:
    """Whether an image is PNG or SVG, as the standard requires; without a media type its file name decides.

    >>> is_badge_image("https://a.example/logo.svg", None), is_badge_image("https://a.example/1/logo", "image/jpeg")
    (True, False)
    """
    if media_type is not None:
        return media_type in ("image/png", "image/svg+xml")
    return url.partition("?")[0].lower().endswith((".png", ".svg"))


def _achievement(
    schema: str, kind: BadgeMapping, name: str, claims: Mapping[str, object], issuer_id: UUID, issuer_name: str
) -> dict[str, object]:
    title = CATALOGUE[schema].title
    criteria = _sentences(claims, kind.criteria) or f"What {issuer_name} asks for."
    same = canonical([schema, name, criteria]).decode()
    return {
        "id": f"urn:uuid:{uuid5(issuer_id, same)}",
        "type": ["Achievement"],
        "achievementType": kind.achievement_type,
        "name": name,
        "description": f"{title}: {name}, awarded by {issuer_name}.",
        "criteria": {"narrative": criteria},
    }


def _sentences(claims: Mapping[str, object], names: tuple[str, ...]) -> str:
    labelled = ((name, _claim_text(claims.get(name))) for name in names)
    return " ".join(f"{name.replace('_', ' ').capitalize()}: {text}." for name, text in labelled if text)


def _claim_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_claim_text(item) for item in value)
    return "" if value is None else str(value).strip()
