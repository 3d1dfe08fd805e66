"""Validation of claims against their schema, and the expiry that claims name (CONTRACT section 5).

Known claims are type-checked, the schema's first claim is required, and unknown claims are stored and named in
`warnings`. Validation runs at every mint, so it visits each claim once and calls one predicate for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from typing import Final

from attestlab.attestations.schemas.catalogue import CATALOGUE, SCHEMA_IDS, ClaimSchema
from attestlab.attestations.schemas.claim_types import ClaimType
from attestlab.core.errors import FieldError, ValidationFailed

_MAX_NAMES = 20  # names of unknown claims in one warning
_MAX_NAME_CHARS = 64
_END_OF_DAY: Final = time(23, 59, 59, 999_000, tzinfo=UTC)


def check_claims(schema_id: str, claims: object) -> list[str]:
    """Validate claims against their schema, and return warnings about them (usually none).

    Raises:
        ValidationFailed: the schema is unknown, or claims are invalid, with one `FieldError` for each of them. Its
            `field` is `/claims/<name>`, its `code` the claim type's, or `missing`. It never contains the value,
            because claims are private and messages are logged.
    """
    schema = _get_schema(schema_id)
    if not isinstance(claims, dict):
        raise ValidationFailed.of("/claims", "not_an_object", "claims must be an object.")
    unknown: list[str] = []
    errors: list[FieldError] = [] if schema.required_claim in claims else [_missing_claim(schema)]
    claim_types = schema.claim_types
    for name, value in claims.items():
        claim_type = claim_types.get(name)
        if claim_type is None:
            unknown.append(name)
        elif not claim_type.accepts(value):
            errors.append(_wrong_type(name, claim_type))
    if errors:
        raise ValidationFailed(_summarize(schema, errors), errors)
    return [_warn_of_unknown(schema, unknown)] if unknown else []


def expiry_from_claims(schema_id: str, claims: Mapping[str, object]) -> datetime | None:
    """Return the last millisecond (UTC) of the day in `expiry_date` or `valid_to`; None if valid claims name none."""
    name = _get_schema(schema_id).expiry_claim
    day = claims.get(name) if name else None
    return datetime.combine(date.fromisoformat(day), _END_OF_DAY) if isinstance(day, str) else None


def _get_schema(schema_id: str) -> ClaimSchema:
    schema = CATALOGUE.get(schema_id)
    if schema is None:
        close = get_close_matches(schema_id[:64], SCHEMA_IDS, n=1)
        remedy = f"Did you mean {close[0]}?" if close else "GET /v1/schemas lists the valid ones."
        raise ValidationFailed.of("/schema", "unknown_schema", f"The catalogue has no such schema. {remedy}")
    return schema


def _missing_claim(schema: ClaimSchema) -> FieldError:
    return FieldError(f"/claims/{schema.required_claim}", "missing", f"{schema.required_claim} is required.")


def _wrong_type(name: str, claim_type: ClaimType) -> FieldError:
    return FieldError(
        f"/claims/{name}{claim_type.pointer_suffix}", claim_type.code, f"{name} must be {claim_type.expected}."
    )


def _summarize(schema: ClaimSchema, errors: Iterable[FieldError]) -> str:
    return f"The claims do not fit schema {schema.id}: {' '.join(error.message for error in errors)}"


def _warn_of_unknown(schema: ClaimSchema, names: Sequence[str]) -> str:
    # One short warning, however many unknown claims there are: the response must not grow with the request.
    shown = [name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}..." for name in names[:_MAX_NAMES]]
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return f"Stored, but not defined by schema {schema.id}: {', '.join(shown)}{more}."
