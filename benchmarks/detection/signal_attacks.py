"""Plain rules over the generated signals of colluding issuers and media batches, on held-out seeds.

They are no detectors. They show what the generated signals can prove: where a plain rule makes no mistake, no detector
can be shown to be better (docs/risk-detection.md).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.records import Kind, LabelledSignal
from attestlab.demos.risk_world.world import RiskWorld
from attestlab.risk.rules import SIGNAL_THRESHOLD, EntityType
from attestlab.simulation.risk.metrics import Proportion

MIN_BATCH = 5  # media signals of one device
BATCH_WINDOW = timedelta(days=1)


class SignalRule(Protocol):
    """Flags signals of one world, in the order of their time."""

    def flags(self, signal: LabelledSignal) -> bool:
        """Whether the rule flags a signal; it may remember it."""


class OwnScore:
    """Flags a signal with a score of 60 and more."""

    def flags(self, signal: LabelledSignal) -> bool:
        """Compare its score."""
        return signal.score >= SIGNAL_THRESHOLD


class TwoIssuers:
    """Flags a signal that names two issuers."""

    def flags(self, signal: LabelledSignal) -> bool:
        """Look for another issuer in its details."""
        return signal.entity_type == EntityType.ISSUER and "counterpart" in signal.details


class DeviceCount:
    """Flags the media signals of a device from the fifth within a day on."""

    def __init__(self) -> None:
        self._recent: defaultdict[str, deque[datetime]] = defaultdict(deque)

    def flags(self, signal: LabelledSignal) -> bool:
        """Count the device's media signals of the day before."""
        if signal.source != "media":
            return False
        recent = self._recent[signal.details["device"]]
        recent.append(signal.occurred_at)
        while recent[0] <= signal.occurred_at - BATCH_WINDOW:
            recent.popleft()
        return len(recent) >= MIN_BATCH


@dataclass(frozen=True)
class RuleResult:
    """How well a rule finds the signals of an attack; innocent signals are those of no attack."""

    rule: str
    attack: Kind
    recall: Proportion
    precision: Proportion
    false_positives: Proportion
    campaigns: Proportion


RULES: Sequence[tuple[str, type[SignalRule], Kind]] = (
    ("own_score", OwnScore, Kind.ISSUER_COLLUSION),
    ("two_issuers", TwoIssuers, Kind.ISSUER_COLLUSION),
    ("own_score", OwnScore, Kind.MEDIA_BATCH),
    ("device_count", DeviceCount, Kind.MEDIA_BATCH),
)


def measure_rules(seeds: Iterable[int]) -> Iterator[RuleResult]:
    """Yield the result of each rule over the worlds of these seeds."""
    worlds = [list(RiskWorld(WorldParameters(seed=seed)).signals()) for seed in seeds]
    for name, rule, attack in RULES:
        yield _measure(name, rule, attack, worlds)


def _measure(name: str, kind: type[SignalRule], attack: Kind, worlds: Sequence[Sequence[LabelledSignal]]) -> RuleResult:
    flagged = [signal for world in worlds for signal in _flag(kind(), world)]
    signals = [signal for world in worlds for signal in world]
    hits = [signal for signal in flagged if signal.kind is attack]
    alarms = sum(not signal.kind.is_attack for signal in flagged)
    attacks = [signal for signal in signals if signal.kind is attack]
    campaigns = {signal.campaign_id for signal in attacks}
    return RuleResult(
        name,
        attack,
        recall=Proportion.of(len(hits), len(attacks)),
        precision=Proportion.of(len(hits), len(hits) + alarms),
        false_positives=Proportion.of(alarms, sum(not signal.kind.is_attack for signal in signals)),
        campaigns=Proportion.of(len({signal.campaign_id for signal in hits}), len(campaigns)),
    )


def _flag(rule: SignalRule, world: Iterable[LabelledSignal]) -> list[LabelledSignal]:
    return [signal for signal in world if rule.flags(signal)]


def render_rules(results: Iterable[RuleResult]) -> str:
    """Return the results as a table in Markdown, with 95 % Wilson intervals."""
    head = "| attack | rule | recall | precision | innocent signals flagged | campaigns found |"
    lines = [head, "|---|---|---|---|---|---|"]
    for each in results:
        shares = (each.recall, each.precision, each.false_positives, each.campaigns)
        lines.append(
            f"| {each.attack.replace('_', ' ')} | {each.rule.replace('_', ' ')} | {' | '.join(map(str, shares))} |"
        )
    return "\n".join([*lines, ""])
