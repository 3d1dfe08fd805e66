"""Thresholds as people name them: numbers in rules, which a simulation varies."""

from __future__ import annotations

from collections.abc import Mapping

from attestlab.client import arguments
from attestlab.core.errors import ValidationFailed

MAX_THRESHOLDS = 2  # of one sweep


def read_thresholds(thresholds: object) -> list[dict[str, object]]:
    """Read the thresholds of one sweep.

    Raises:
        ValidationFailed: there is none or too many, or one is no threshold.
    """
    if not isinstance(thresholds, list | tuple) or not 1 <= len(thresholds) <= MAX_THRESHOLDS:
        given = len(thresholds) if isinstance(thresholds, list | tuple) else arguments.show(thresholds)
        raise ValidationFailed(f"A sweep varies 1 or 2 thresholds, not {given}. Pass ('rule', 'attribute').")
    return list(map(read_threshold, thresholds))


def read_threshold(threshold: object) -> dict[str, object]:
    """Read a threshold: `(rule_id, attribute)`, with an operator as the third part, or a dict of these.

    Raises:
        ValidationFailed: it is neither.
    """
    if isinstance(threshold, Mapping):
        return arguments.read_mapping(threshold, name="threshold")
    if not isinstance(threshold, tuple) or len(threshold) not in (2, 3):
        raise ValidationFailed(f"{arguments.show(threshold)} is no threshold. Pass ('rule', 'attribute').")
    return dict(zip(("rule_id", "attribute", "op"), threshold, strict=False))
