"""Rules of risk: entities, the scale of scores, thresholds, and the factors of a score (CONTRACT section 8)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from attestlab.core.encoding import format_time
from attestlab.core.errors import ValidationFailed

MAX_SCORE = 100.0
SIGNAL_THRESHOLD = 60.0  # a score of the service's own detectors becomes a signal from here on
DEFAULT_ESCALATION_THRESHOLD = 80.0
MAX_NAME_LENGTH = 64
MAX_ENTITY_ID_LENGTH = 256
MAX_DETAILS_BYTES = 8_192  # of a signal's details as JSON
SCORE_DECIMALS = 4
SCORE_CLASSES = 10  # of the whole scale, of equal width; the last one includes its end
MAX_RECENT_SIGNALS = 1_000  # of an entity that a policy considers: its newest of `RECENT`
RECENT = timedelta(hours=24)
CLOCK_SKEW = timedelta(minutes=1)  # a sender's clock may be ahead by as much

NAME_PATTERN = rf"^[a-z0-9_]{{1,{MAX_NAME_LENGTH}}}$"
_NAME = re.compile(NAME_PATTERN)
ENTITY_ID = re.compile(rf"[^\x00-\x1f\x7f\ud800-\udfff]{{1,{MAX_ENTITY_ID_LENGTH}}}")


class EntityType(StrEnum):
    """The kind of thing that a signal is about."""

    USER = "user"
    DEVICE = "device"
    IP = "ip"
    DOCUMENT = "document"
    SESSION = "session"
    ISSUER = "issuer"
    ATTESTATION = "attestation"


class ScoreScale(StrEnum):
    """The scale of a submitted score: 0 to 100, or 0 to 1."""

    PERCENT = "percent"
    UNIT = "unit"


class ListName(StrEnum):
    """A list of entities that a tenant has decided about."""

    ALLOW = "allow"
    DENY = "deny"


class CaseStatus(StrEnum):
    """The status of a case."""

    OPEN = "open"
    RESOLVED = "resolved"


class CaseOutcome(StrEnum):
    """What a case turned out to be; the label of its signals in backtests."""

    FRAUD = "fraud"
    LEGITIMATE = "legitimate"
    INCONCLUSIVE = "inconclusive"


class Entity(NamedTuple):
    """The user, device, address or other thing that a signal is about."""

    type: EntityType
    id: str

    @classmethod
    def of(cls, kind: str, entity_id: str) -> Entity:
        """Validate a kind and an id.

        Raises:
            ValidationFailed: the kind is unknown, or the id is empty, too long or has control characters.
        """
        if kind not in EntityType.__members__.values():
            message = f"{kind[:40]!r} is no entity type. Use one of {', '.join(EntityType)}."
            raise ValidationFailed.of("/entity_type", "unknown", message)
        if not ENTITY_ID.fullmatch(entity_id):
            message = f"An entity's id has 1 to {MAX_ENTITY_ID_LENGTH} characters and no control characters."
            raise ValidationFailed.of("/entity_id", "entity_id", message)
        return cls(EntityType(kind), entity_id)


class Factor(NamedTuple):
    """One reason for a score, with words that explain it; `contribution` is its part, in points of 0 to 100."""

    name: str
    value: float | int | str | bool
    weight: float
    contribution: float
    explanation: str = ""

    def content(self) -> dict[str, object]:
        """Return the factor as an element of `details.factors`."""
        return self._asdict()


def sum_factors(factors: Iterable[Factor]) -> float:
    """Return the score that the factors explain: the sum of their contributions, with four decimals."""
    return round(math.fsum(factor.contribution for factor in factors), SCORE_DECIMALS)


def require_name(field: str, value: str) -> str:
    """Require the name of a source, a signal type or an action.

    Raises:
        ValidationFailed: it is not 1 to 64 lowercase letters, digits or underscores.
    """
    if not _NAME.fullmatch(value):
        message = f"{value[:40]!r} is not acceptable: use 1 to {MAX_NAME_LENGTH} of a-z, 0-9 and _."
        raise ValidationFailed.of(f"/{field}", "name", message)
    return value


def to_percent(score: float, scale: ScoreScale = ScoreScale.PERCENT) -> float:
    """Return a submitted score on the scale of 0 to 100.

    Raises:
        ValidationFailed: the score is not a number within its scale.
    """
    limit = MAX_SCORE if scale is ScoreScale.PERCENT else 1.0
    if not 0 <= score <= limit:  # not true of NaN either
        message = f"{score!r} is outside of 0 to {limit:g}, the scale {scale.value!r}. Use `score_scale` for the other."
        raise ValidationFailed.of("/score", "out_of_range", message)
    percent = float(score) if scale is ScoreScale.PERCENT else round(score * MAX_SCORE, SCORE_DECIMALS)
    return abs(percent)  # -0.0 is 0


def settle_time(occurred_at: datetime | None, now: datetime) -> datetime:
    """Return when something occurred: now if no time was sent, or if the sender's clock is slightly ahead.

    Raises:
        ValidationFailed: the time is later than now by more than `CLOCK_SKEW`.
    """
    if occurred_at is None:
        return now
    if occurred_at > now + CLOCK_SKEW:
        message = f"{format_time(occurred_at)} is later than now, {format_time(now)}. Send the time of the occurrence."
        raise ValidationFailed.of("/occurred_at", "future", message)
    return min(occurred_at, now)
