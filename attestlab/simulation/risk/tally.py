"""Counts of signals by label and by both decisions: everything that the metrics and the gate need."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from attestlab.policy.language.ast import Rule
from attestlab.risk.rules import CaseOutcome
from attestlab.simulation.decision_queries import COUNT, before_and_after, list_labels
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.risk.metrics import Confusion
from attestlab.simulation.risk.promotion import Disagreement, GateEvidence, LabelCount
from attestlab.simulation.risk.rule_sets import CANDIDATE
from attestlab.simulation.risk.signal_history import CASE, LABEL, LABELS
from attestlab.simulation.scenarios import ScenarioSets

FRAUD, LEGITIMATE = CaseOutcome.FRAUD.value, CaseOutcome.LEGITIMATE.value


class SignalGroup(NamedTuple):
    """The signals with one label and the same decisions; `rule` is the candidate's that escalates them."""

    label: str
    live: bool
    candidate: bool
    rule: str | None
    signals: int


class RuleTally(NamedTuple):
    """The signals that a rule is the first to escalate, by what is known of them."""

    rule_id: str
    escalated: int
    fraud: int
    legitimate: int


@dataclass(frozen=True)
class Tallies:
    """The groups of all replayed signals, and the number of cases behind each label."""

    groups: tuple[SignalGroup, ...]
    cases: dict[str, int]
    rules: tuple[Rule, ...]

    @property
    def signals(self) -> int:
        """The number of replayed signals."""
        return sum(group.signals for group in self.groups)

    @cached_property
    def labels(self) -> dict[str, LabelCount]:
        """The signals and cases of each label."""
        return {label: LabelCount(self._count(label=label), self.cases.get(label, 0)) for label in LABELS}

    @cached_property
    def candidate(self) -> Confusion:
        """The candidate's decisions about labelled signals."""
        return Confusion(
            self._count(label=FRAUD, candidate=True),
            self._count(label=LEGITIMATE, candidate=True),
            self._count(label=FRAUD, candidate=False),
            self._count(label=LEGITIMATE, candidate=False),
        )

    @cached_property
    def live(self) -> Confusion:
        """The live rule's decisions about labelled signals."""
        return Confusion(
            self._count(label=FRAUD, live=True),
            self._count(label=LEGITIMATE, live=True),
            self._count(label=FRAUD, live=False),
            self._count(label=LEGITIMATE, live=False),
        )

    @property
    def evidence(self) -> GateEvidence:
        """What the promotion gate decides by."""
        gained = self._count(label=FRAUD, live=False, candidate=True)
        lost = self._count(label=FRAUD, live=True, candidate=False)
        avoided = self._count(label=LEGITIMATE, live=True, candidate=False)
        raised = self._count(label=LEGITIMATE, live=False, candidate=True)
        return GateEvidence(
            fraud=self.labels[FRAUD],
            legitimate=self.labels[LEGITIMATE],
            candidate=self.candidate,
            live=self.live,
            on_fraud=Disagreement(gained, lost),
            on_legitimate=Disagreement(avoided, raised),
        )

    @property
    def flips(self) -> list[SignalGroup]:
        """The signals that the two decide differently, by label; missed fraud first."""
        found: Counter[tuple[bool, str]] = Counter()
        for group in self.groups:
            if group.live != group.candidate:
                found[group.candidate, group.label] += group.signals
        ordered = sorted(found, key=lambda flip: (flip[0], LABELS.index(flip[1])))
        return [SignalGroup(label, not to, to, None, found[to, label]) for to, label in ordered]

    @property
    def by_rule(self) -> list[RuleTally]:
        """What each rule escalates, in the order of the rules; a later rule gets what no earlier one escalates."""
        return [
            RuleTally(
                rule.id,
                self._count(rule=rule.id),
                self._count(rule=rule.id, label=FRAUD),
                self._count(rule=rule.id, label=LEGITIMATE),
            )
            for rule in self.rules
        ]

    def _count(self, **wanted: object) -> int:
        return sum(
            group.signals
            for group in self.groups
            if all(getattr(group, name) == value for name, value in wanted.items())
        )


def count_signals(session: QuerySession, sets: ScenarioSets, rows: str, rules: tuple[Rule, ...]) -> Tallies:
    """Count the signals of a table; `rules` are the candidate's.

    Raises:
        Cancelled, Unavailable: see `QuerySession.run`.
    """
    names = {label.code: label.rule for label in list_labels(sets) if label.policy == CANDIDATE}
    columns = f'{LABEL}, NOT "@before", NOT "@after", CASE WHEN NOT "@after" THEN "@why_after" END'
    decided = before_and_after(sets, rows)
    groups = [
        SignalGroup(label, live, candidate, names.get(code), count)
        for label, live, candidate, code, count in session.run(
            f"SELECT {columns}, sum({COUNT})::BIGINT FROM ({decided}) GROUP BY ALL ORDER BY ALL"
        )
    ]
    cases = session.run(f"SELECT {LABEL}, count(DISTINCT {CASE}) FROM {rows} GROUP BY ALL")
    return Tallies(tuple(groups), dict(cases), rules)
