"""Do these claims fit their schema, and what do they say about the attestation itself?

CONTRACT section 5: known claims are type-checked, the schema's first claim is required, further claims are kept and
named in `warnings`. This runs at every mint, so it walks the claims once and calls one predicate each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from typing import Final

from attestlab.attestations.schemas.catalogue import CATALOGUE, SCHEMA_IDS, ClaimSchema
from attestlab.attestations.schemas.claim_types import ClaimType
from attestlab.core.errors import FieldError, ValidationFailed

_MAX_NAMES = 20  # of unknown claims in a warning
_MAX_NAME_CHARS = 64
_END_OF_DAY: Final = time(23, 59, 59, 999_000, tzinfo=UTC)


def check_claims(schema_id: str, claims: object) -> list[str]:
    """Hold `claims` against the catalogue and return the warnings about them, most often none.

    Raises:
        ValidationFailed: an unknown schema, or one `FieldError` for every claim that does not fit. Its `field` is
            `/claims/<name>`, its `code` that of the claim's kind, or `missing`; it never repeats the value, because
            claims are private and messages are logged.
    """
    schema = _known(schema_id)
    if not isinstance(claims, dict):
        raise ValidationFailed.of("/claims", "not_an_object", "claims must be an object.")
    unknown: list[str] = []
    faults: list[FieldError] = [] if schema.required in claims else [_missing(schema)]
    kinds = schema.kinds
    for name, value in claims.items():
        kind = kinds.get(name)
        if kind is None:
            unknown.append(name)
        elif not kind.holds(value):
            faults.append(_fault(name, kind))
    if faults:
        raise ValidationFailed(_summary(schema, faults), faults)
    return [_kept(schema, unknown)] if unknown else []


def expiry_from_claims(schema_id: str, claims: Mapping[str, object]) -> datetime | None:
    """The last millisecond (UTC) of the day in `expiry_date` or `valid_to`; None where checked claims name none."""
    name = _known(schema_id).expiry_claim
    day = claims.get(name) if name else None
    return datetime.combine(date.fromisoformat(day), _END_OF_DAY) if isinstance(day, str) else None


def _known(schema_id: str) -> ClaimSchema:
    schema = CATALOGUE.get(schema_id)
    if schema is None:
        close = get_close_matches(schema_id[:64], SCHEMA_IDS, n=1)
        remedy = f"did you mean {close[0]}?" if close else "GET /v1/schemas lists them."
        raise ValidationFailed.of("/schema", "unknown_schema", f"The catalogue has no such schema; {remedy}")
    return schema


def _missing(schema: ClaimSchema) -> FieldError:
    return FieldError(f"/claims/{schema.required}", "missing", f"{schema.required} is required.")


def _fault(name: str, kind: ClaimType) -> FieldError:
    return FieldError(f"/claims/{name}{kind.inside}", kind.code, f"{name} must be {kind.wants}.")


def _summary(schema: ClaimSchema, faults: Iterable[FieldError]) -> str:
    return f"The claims do not fit schema {schema.id}: {' '.join(fault.message for fault in faults)}"


def _kept(schema: ClaimSchema, names: Sequence[str]) -> str:
    # One short warning however many there are: the answer must not grow with the request.
    shown = [name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}..." for name in names[:_MAX_NAMES]]
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return f"Kept, but not in schema {schema.id}: {', '.join(shown)}{more}."
