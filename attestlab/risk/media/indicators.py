"""Indicators that the caller gives: results of detectors that the caller runs, as numbers from 0 to 1 or booleans.

They are the caller's claim. The scan cannot check one of them, and names them so in its factors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attestlab.core.errors import ValidationFailed

MAX_INDICATORS = 16
MAX_UNKNOWN_POINTS = 30  # of all unknown indicators together; below the verdict `suspect`
UNKNOWN_WEIGHT = 10
# What a caller's detector may look for, and how many points its full score gives.
WEIGHTS = {
    "ai_generated": 80,
    "face_swap": 80,
    "lip_sync": 70,
    "voice_clone": 70,
    "liveness_failed": 60,
    "splice": 60,
    "frequency_artifacts": 30,
    "lighting_inconsistency": 25,
    "temporal_inconsistency": 25,
    "noise_inconsistency": 20,
    "metadata_stripped": 5,
}
_NAME = re.compile(r"[a-z0-9_]{1,64}")
_FIELD = "/indicators"


def parse_indicators(indicators: Mapping[str, object] | None) -> dict[str, float]:
    """Validate the indicators of a caller and return them as numbers, sorted by name.

    Raises:
        ValidationFailed: there are too many, or one has no acceptable name or value.
    """
    given = indicators or {}
    if len(given) > MAX_INDICATORS:
        message = f"There are {len(given):,} indicators; the limit is {MAX_INDICATORS}. Send the strongest."
        raise ValidationFailed.of(_FIELD, "too_many", message)
    return {name: _parse_value(name, given[name]) for name in sorted(given, key=str)}


def _parse_value(name: object, value: object) -> float:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = f"{str(name)[:40]!r} is no name of an indicator: use 1 to 64 of a-z, 0-9 and _."
        raise ValidationFailed.of(_FIELD, "name", message)
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:  # not true of NaN either
        message = f"The indicator {name} is {_shorten(value)}; send a number from 0 to 1, or a boolean."
        raise ValidationFailed.of(f"{_FIELD}/{name}", "out_of_range", message)
    return float(value)


def _shorten(value: object) -> str:
    """Write a value into an error; a number of a thousand digits would take long to write."""
    return repr(value)[:40] if isinstance(value, bool | float | str) else type(value).__name__
