"""The members of a signal as JSON has them, and the rules that each of them keeps.

The service reads the lines of a bulk request by them, and a client the rows that it must not send.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from attestlab.core.encoding import parse_sent_time
from attestlab.core.errors import ValidationFailed
from attestlab.core.suggestions import find_nearest
from attestlab.risk.rules import (
    MAX_DETAILS_BYTES,
    UNKNOWN_MEMBER,
    Entity,
    Factor,
    ScoreScale,
    require_known_members,
    require_name,
    resolve_occurrence,
    to_percent,
)

MAX_LINE_BYTES = 16 * 1024  # of a signal in NDJSON
REQUIRED = ("source", "signal_type", "score", "entity_type", "entity_id")
MEMBERS = frozenset({*REQUIRED, "score_scale", "details", "occurred_at"})


class SignalMembers(NamedTuple):
    """A signal as it was sent; `score` is 0 to 100."""

    source: str
    signal_type: str
    score: float
    entity: Entity
    details: Mapping[str, object] | None
    occurred_at: datetime


def read_members(members: Mapping[str, object], *, now: datetime) -> SignalMembers:
    """Read the members of a signal.

    Raises:
        ValidationFailed: a member is missing, unknown or not acceptable; the error names it.
    """
    require_known_members(members, MEMBERS)
    if missing := [name for name in REQUIRED if name not in members]:
        raise ValidationFailed.of(f"/{missing[0]}", "missing", f"Missing members: {', '.join(missing)}.")
    details = members.get("details")
    if details is not None and not isinstance(details, dict):
        raise ValidationFailed.of("/details", "type", "`details` must be an object.")
    sent = _take(members, "occurred_at", str)
    occurred_at = None if sent is None else parse_sent_time(sent, field="/occurred_at")
    return SignalMembers(
        source=require_name("source", _take(members, "source", str) or ""),
        signal_type=require_name("signal_type", _take(members, "signal_type", str) or ""),
        score=_parse_score(members),
        entity=Entity.of_sent(_take(members, "entity_type", str) or "", _take(members, "entity_id", str) or ""),
        details=details,
        occurred_at=resolve_occurrence(occurred_at, now),
    )


def encode_details(
    details: Mapping[str, object] | None, factors: Sequence[Factor] = (), *, member: str = "details"
) -> str:
    """Return a signal's details as stored: canonical JSON, with the factors that explain the score.

    `member` is the part of the request that they come from.

    Raises:
        ValidationFailed: they are too long.
    """
    content = dict(details or {})
    if factors:
        content["factors"] = [factor.content() for factor in factors]
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode()
    if len(text) > MAX_DETAILS_BYTES:
        message = f"The {member} take {len(text):,} characters as JSON, and at most {MAX_DETAILS_BYTES:,} are kept."
        raise ValidationFailed.of(f"/{member}", "too_large", message)
    return text


def _take(members: Mapping[str, object], name: str, kind: type[str]) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, kind):
        raise ValidationFailed.of(f"/{name}", "type", f"`{name}` must be a text.")
    return value


def _parse_score(members: Mapping[str, object]) -> float:
    score, scale = members["score"], members.get("score_scale", ScoreScale.PERCENT)
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        raise ValidationFailed.of("/score", "type", "`score` must be a number.")
    if scale not in ("percent", "unit"):
        raise ValidationFailed.of("/score_scale", "unknown", "`score_scale` must be percent or unit.")
    return to_percent(score, ScoreScale(scale))


def describe_fault(error: ValidationFailed, known: Iterable[str] = ()) -> str:
    """Return what is wrong with a row as one line: the field, the message, and the nearest of the known members."""
    fault = error.fields[0] if error.fields else None
    if fault is None or not fault.field:
        return error.message
    nearest = find_nearest(fault.field[1:], known) if fault.code == UNKNOWN_MEMBER else None
    return f"{fault.field}: {fault.message}" + (f" Did you mean `{nearest}`?" if nearest else "")
