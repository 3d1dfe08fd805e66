"""The attributes of a signal that risk rules may use, and the windows that count the signals of its entity.

A window of a signal looks back only: it holds the entity's signals that occurred after `t - seconds`, up to the signal
itself. Signals of one moment follow each other in the order in which they were recorded.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from attestlab.policy.language.attributes import Attribute, AttributeType, Registry
from attestlab.risk.rules import MAX_SCORE, EntityType


class LookBack(NamedTuple):
    """A window before each signal: the suffix of its attributes, and its length."""

    name: str
    seconds: int


LOOK_BACKS = (LookBack("5m", 300), LookBack("1h", 3_600), LookBack("24h", 86_400), LookBack("7d", 604_800))
MAX_LOOK_BACK_S = LOOK_BACKS[-1].seconds
SCORE, SOURCE = "signal.score", "signal.source"
SIGNAL_TYPE, ENTITY_TYPE = "signal.signal_type", "signal.entity_type"
SINCE_PREVIOUS = "entity.seconds_since_previous"
COUNT, MAXIMUM, SOURCES = "entity.signals_", "entity.max_score_", "entity.sources_"

REGISTRY = Registry(
    [
        Attribute(SCORE, AttributeType.NUMBER, least=0, most=MAX_SCORE, unit="points"),
        Attribute(SOURCE, AttributeType.TEXT),
        Attribute(SIGNAL_TYPE, AttributeType.TEXT),
        Attribute(ENTITY_TYPE, AttributeType.ENUM, tuple(EntityType)),
        Attribute(SINCE_PREVIOUS, AttributeType.NUMBER, least=0, unit="seconds"),
        *(Attribute(COUNT + each.name, AttributeType.INTEGER, least=0) for each in LOOK_BACKS),
        *(
            Attribute(MAXIMUM + each.name, AttributeType.NUMBER, least=0, most=MAX_SCORE, unit="points")
            for each in LOOK_BACKS
        ),
        *(Attribute(SOURCES + each.name, AttributeType.INTEGER, least=0) for each in LOOK_BACKS),
    ]
)
"""What a rule may compare. Only `entity.seconds_since_previous` can be missing: the entity had no signal in 7 days."""


def list_look_backs(paths: Collection[str]) -> list[LookBack]:
    """Return the windows that attributes need, the shortest first."""
    return [each for each in LOOK_BACKS if any(prefix + each.name in paths for prefix in (COUNT, MAXIMUM, SOURCES))]
