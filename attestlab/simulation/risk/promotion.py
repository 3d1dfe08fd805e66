"""The promotion gate: whether a candidate is better than the live rule, with the reasons in words.

Both decide about the same signals, so only signals that they decide differently tell them apart (the test of McNemar,
Psychometrika 12, 1947). The candidate is clearly better where the Wilson interval of its share of these is above one
half.
"""

from __future__ import annotations

from typing import NamedTuple

from attestlab.simulation.risk.metrics import Confusion, Proportion

MIN_LABELLED_SIGNALS = 30  # of either label
MIN_LABELLED_CASES = 10  # of either label; the signals of one case are not independent


class LabelCount(NamedTuple):
    """The signals with one label, and the cases that gave it to them."""

    signals: int
    cases: int


class Disagreement(NamedTuple):
    """The signals of one label that only one of the two decides correctly."""

    candidate_right: int
    live_right: int

    @property
    def is_not_worse(self) -> bool:
        """Whether the candidate is right at least as often."""
        return self.candidate_right >= self.live_right

    @property
    def is_clearly_better(self) -> bool:
        """Whether the candidate is right more often than chance explains, with 95 % confidence."""
        return self.share.low > 0.5

    @property
    def share(self) -> Proportion:
        """The candidate's share of the differing decisions."""
        return Proportion.of(self.candidate_right, self.candidate_right + self.live_right)


class GateEvidence(NamedTuple):
    """What the gate decides by."""

    fraud: LabelCount
    legitimate: LabelCount
    candidate: Confusion
    live: Confusion
    on_fraud: Disagreement
    on_legitimate: Disagreement


class GateCheck(NamedTuple):
    """One condition of the gate."""

    name: str
    passed: bool
    reason: str


class PromotionGate(NamedTuple):
    """The decision of the gate: the candidate is better if every check has passed."""

    is_better: bool
    summary: str
    checks: tuple[GateCheck, ...]


def decide_promotion(evidence: GateEvidence) -> PromotionGate:
    """Decide whether the candidate is better: enough labels, nothing worse, and something clearly better."""
    checks = (_check_labels(evidence), _check_recall(evidence), _check_fpr(evidence), _check_improvement(evidence))
    failed = [check.reason for check in checks if not check.passed]
    if failed:
        return PromotionGate(False, f"The candidate is not shown to be better than the live rule. {failed[0]}", checks)
    return PromotionGate(True, f"The candidate is better than the live rule. {checks[-1].reason}", checks)


def _check_labels(evidence: GateEvidence) -> GateCheck:
    labels = {"fraud": evidence.fraud, "legitimate": evidence.legitimate}
    lacking = [
        name
        for name, count in labels.items()
        if count.signals < MIN_LABELLED_SIGNALS or count.cases < MIN_LABELLED_CASES
    ]
    found = " and ".join(f"{each.signals:,} {name} signals of {each.cases:,} cases" for name, each in labels.items())
    needed = f"at least {MIN_LABELLED_SIGNALS} signals of {MIN_LABELLED_CASES} cases of either label"
    if lacking:
        return GateCheck("labels", False, f"There are {found}; {needed} are needed. Resolve more cases.")
    return GateCheck("labels", True, f"There are {found}, which is enough.")


def _check_recall(evidence: GateEvidence) -> GateCheck:
    here, there = evidence.on_fraud
    reason = (
        f"Its recall is {evidence.candidate.recall}, that of the live rule {evidence.live.recall}: it finds {here:,} "
        f"fraud signals that the live rule misses, and misses {there:,} that the live rule finds."
    )
    return GateCheck("recall", evidence.on_fraud.is_not_worse, reason)


def _check_fpr(evidence: GateEvidence) -> GateCheck:
    here, there = evidence.on_legitimate
    reason = (
        f"Its false-positive rate is {evidence.candidate.fpr}, that of the live rule {evidence.live.fpr}: it avoids "
        f"{here:,} false alarms of the live rule, and raises {there:,} that the live rule does not."
    )
    return GateCheck("false_positive_rate", evidence.on_legitimate.is_not_worse, reason)


def _check_improvement(evidence: GateEvidence) -> GateCheck:
    compared = {"fraud": evidence.on_fraud, "legitimate": evidence.on_legitimate}
    clear = [name for name, each in compared.items() if each.is_clearly_better]
    shares = "; ".join(
        f"of {sum(each):,} {name} signals that they decide differently, it is right about {each.share}"
        for name, each in compared.items()
        if sum(each)
    )
    if clear:
        return GateCheck("improvement", True, f"The difference is more than chance: {shares}.")
    found = f" ({shares})" if shares else ": they decide every labelled signal alike"
    return GateCheck("improvement", False, f"No difference is more than chance, with 95 % confidence{found}.")
