"""Wire models of what-if over risk (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import DescribedAs, In, Moment, Out, Uuid
from attestlab.policy.language.document import Condition
from attestlab.risk.shapes import EntityTypeName
from attestlab.simulation.risk.metrics import COST_OF_FALSE_ALARM, COST_OF_MISSED_FRAUD, MAX_COST
from attestlab.simulation.shapes import ThresholdIn, WindowOut

MAX_SENT_RULES = 1_000  # of one request; the simulation names the limit that it really has
Cost = Annotated[float, Field(ge=0, le=MAX_COST)]
RiskDecision = Literal["pass", "escalate"]
Labels = Literal["fraud", "legitimate", "inconclusive", "open", "none"]


class RiskRuleIn(In, source="CONTRACT 8"):
    """A rule: signals for which its condition holds are escalated. Conditions are those of policies."""

    id: Annotated[str, Field(max_length=64)]
    """The rule. Format: 1-64 characters."""
    when: Annotated[dict[str, object], DescribedAs(Condition)]
    """The signals that the rule escalates. Format: a condition, see docs/policies.md."""


class CostsIn(In, wire_name="risk_error_costs_input", source="CONTRACT 8"):
    """The cost of one missed fraud and of one false alarm, in any unit."""

    missed_fraud: Cost = COST_OF_MISSED_FRAUD
    """The cost of one fraud that is not escalated. Format: any unit."""
    false_alarm: Cost = COST_OF_FALSE_ALARM
    """The cost of one legitimate signal that is escalated. Format: the same unit."""


class SimulateRiskIn(In, wire_name="risk_simulation_input", source="CONTRACT 8"):
    """Rules to replay over the signals that occurred at or after `from` and before `to`."""

    rules: Annotated[list[RiskRuleIn], Field(max_length=MAX_SENT_RULES)]
    """The rules; a signal that one of them matches is escalated."""
    from_: Annotated[Moment | None, Field(alias="from")] = None
    """Only signals that occurred at or after this moment. Format: RFC 3339 date-time with an offset."""
    to: Moment | None = None
    """Only signals that occurred before this moment. Format: RFC 3339 date-time with an offset."""
    costs: CostsIn = CostsIn()
    """The costs of errors."""
    threshold: ThresholdIn | None = None
    """The number in a rule that the curve varies."""
    points: Annotated[int, Field(ge=1, le=1_000)] = 100
    """The number of points of the curve. Format: 1-1000, by default 100."""
    explain: Uuid | None = None
    """A signal whose decision is explained rule by rule. Format: UUID, 36 characters."""

    def without_rules(self) -> SimulateRiskIn:
        """Return the options alone, for another process: it gets the rules as bytes."""
        return self.model_copy(update={"rules": []})


class ProportionOut(Out, wire_name="risk_proportion", source="CONTRACT 8"):
    """A share with its 95 % Wilson interval; null if nothing was observed."""

    value: float | None
    """The share. Format: from 0 to 1; null if nothing was observed."""
    low: float
    """The lower end of its 95 % Wilson interval. Format: from 0 to 1."""
    high: float
    """The upper end of its 95 % Wilson interval. Format: from 0 to 1."""


class ConfusionOut(Out, wire_name="risk_confusion", source="CONTRACT 8"):
    """Labelled signals by label and decision: positive is escalated, true is correct."""

    true_positive: int
    """Fraud signals that are escalated. Format: 0 or more."""
    false_positive: int
    """Legitimate signals that are escalated. Format: 0 or more."""
    false_negative: int
    """Fraud signals that pass. Format: 0 or more."""
    true_negative: int
    """Legitimate signals that pass. Format: 0 or more."""


class LabelCountOut(Out, wire_name="risk_label_count", source="docs/risk.md"):
    """The signals with one label, and the cases that gave it."""

    signals: int
    """The signals with the label. Format: 0 or more."""
    cases: int
    """The cases that gave it to them. Format: 0 or more."""


class SignalLabelsOut(Out, wire_name="risk_signal_labels", source="docs/risk.md"):
    """What is known of the replayed signals; only fraud and legitimate signals count in the confusion matrix."""

    fraud: LabelCountOut
    """Signals of cases with this outcome."""
    legitimate: LabelCountOut
    """Signals of cases with this outcome."""
    inconclusive: LabelCountOut
    """Signals of cases with this outcome; not in the confusion matrix."""
    open: LabelCountOut
    """Signals of cases without an outcome yet; not in the confusion matrix."""
    none: LabelCountOut
    """Signals without a case; not in the confusion matrix."""


class LiveRuleOut(Out, wire_name="risk_live_rule", source="docs/risk.md"):
    """The tenant's escalation threshold on the same signals."""

    escalation_threshold: float
    """The score from which the tenant's signals are escalated. Format: from 0 to 100."""
    confusion: ConfusionOut
    """Its decisions about labelled signals."""
    precision: ProportionOut
    """The share of fraud in what it escalates."""
    recall: ProportionOut
    """The share of the labelled fraud that it escalates."""
    fpr: ProportionOut
    """The share of the legitimate signals that it escalates."""
    cost: float
    """The cost of its wrong decisions. Format: 0 or more."""


class CostsOut(Out, wire_name="risk_error_costs", source="docs/risk.md"):
    """The costs that were used."""

    missed_fraud: float
    """The cost of one fraud signal that passes. Format: 0 to 1,000,000,000."""
    false_alarm: float
    """The cost of one legitimate signal that is escalated. Format: 0 to 1,000,000,000."""


class SweptThresholdOut(Out, wire_name="risk_threshold", source="docs/risk.md"):
    """The number in a rule that the curve varies."""

    rule_id: str
    """The rule with the number. Format: 1-64 characters."""
    attribute: str
    """The attribute that it compares. Format: see docs/risk.md."""
    op: Literal["lt", "lte", "gt", "gte"]
    """How it compares. Format: lt, lte, gt or gte."""
    value: float
    """The present value. Format: in the rule's unit."""


class CurvePointOut(ConfusionOut, wire_name="risk_curve_point", source="docs/risk.md"):
    """The result for one value of the threshold; shares are null if nothing was observed."""

    value: float
    """The value of the threshold. Format: in the rule's unit."""
    precision: float | None
    """The share of fraud in what is escalated. Format: from 0 to 1; null if nothing was observed."""
    recall: float | None
    """The share of the labelled fraud that is escalated. Format: from 0 to 1; null if nothing was observed."""
    fpr: float | None
    """The share of the legitimate signals that are escalated. Format: from 0 to 1; null if nothing was observed."""
    cost: float
    """The cost of the wrong decisions. Format: 0 or more."""
    is_current: bool
    """Whether this is the present value. Format: true or false."""


class RiskFlipOut(Out, source="docs/risk.md"):
    """The number of signals with one label that the candidate decides otherwise than the live rule."""

    from_: Annotated[RiskDecision, Field(serialization_alias="from", validation_alias="from")]
    """The live rule's decision. Format: pass or escalate."""
    to: RiskDecision
    """The candidate's decision. Format: pass or escalate."""
    label: Labels
    """The label of the signals. Format: fraud, legitimate, inconclusive, open or none."""
    count: int
    """The number of signals. Format: 1 or more."""


class RiskRuleEffectOut(Out, source="docs/risk.md"):
    """The signals that a rule is the first to escalate."""

    rule_id: str
    """The rule. Format: 1-64 characters."""
    escalated: int
    """Signals that it is the first to escalate. Format: 0 or more."""
    fraud: int
    """Those of them that are fraud. Format: 0 or more."""
    legitimate: int
    """Those of them that are legitimate. Format: 0 or more."""


class SignalExampleOut(Out, wire_name="risk_signal_example", source="docs/risk.md"):
    """A signal with the candidate's decision and the values that decided it."""

    kind: Literal["true_positive", "false_positive", "miss", "newly_escalated", "newly_passed"]
    """The kind of result. Format: true_positive, false_positive, miss, newly_escalated or newly_passed."""
    signal_id: UUID
    """The signal. Format: UUID, 36 characters."""
    entity_type: EntityTypeName
    """What the signal is about. Format: user, device, ip, document, session, issuer or attestation."""
    entity_id: str
    """The id of that entity. Format: at most 256 characters."""
    occurred_at: Moment
    """When it happened. Format: RFC 3339."""
    label: Labels
    """Its label. Format: fraud, legitimate, inconclusive, open or none."""
    case_id: UUID | None
    """The case that gave the label; null without one. Format: UUID, 36 characters."""
    live: RiskDecision
    """The live rule's decision. Format: pass or escalate."""
    candidate: RiskDecision
    """The candidate's decision. Format: pass or escalate."""
    rule_id: str | None
    """The rule that escalates it; null if it passes. Format: 1-64 characters."""
    values: dict[str, str | float | int]
    """The values that the rule compares; those that any rule compares if it passes. Format: by attribute."""


class GateCheckOut(Out, wire_name="risk_gate_check", source="docs/risk.md"):
    """One condition of the promotion gate."""

    name: Literal["labels", "recall", "false_positive_rate", "improvement"]
    """The condition. Format: labels, recall, false_positive_rate or improvement."""
    passed: bool
    """Whether it holds. Format: true or false."""
    reason: str
    """The figures that decide it. Format: a sentence."""


class PromotionOut(Out, wire_name="risk_promotion", source="docs/risk.md"):
    """Whether the candidate is better than the live rule: every check has passed."""

    is_better: bool
    """Whether every check has passed. Format: true or false."""
    summary: str
    """The decision and its first reason. Format: two sentences."""
    checks: list[GateCheckOut]
    """The conditions. Format: four."""


class ExplainedRiskRuleOut(Out, wire_name="risk_explained_rule", source="docs/risk.md"):
    """A rule on one signal; `when` is its condition with the truth value of every node."""

    rule_id: str
    """The rule. Format: 1-64 characters."""
    matched: bool
    """Whether its condition is true. Format: true or false."""
    when: dict[str, object]
    """The condition with the truth value of every node. Format: as in the explanation of a policy decision."""


class ExplainedSignalOut(Out, wire_name="risk_explained_signal", source="docs/risk.md"):
    """The candidate's decision about one signal; `rule_id` is null if it passes."""

    signal_id: UUID
    """The signal. Format: UUID, 36 characters."""
    decision: RiskDecision
    """The candidate's decision. Format: pass or escalate."""
    rule_id: str | None
    """The rule that escalates it; null if it passes. Format: 1-64 characters."""
    values: dict[str, str | float | int]
    """The values that the rules compare; a missing value is absent. Format: by attribute."""
    rules: list[ExplainedRiskRuleOut]
    """Every rule. Format: in the order in which they decide."""


class RiskSimulationOut(Out, source="docs/risk.md"):
    """What a rule set would have decided, compared with the outcomes of cases and with the live rule."""

    window: WindowOut
    """The time range of the signals, by occurred_at. Source: CONTRACT 8."""
    signals: int
    """The number of replayed signals. Format: 0 or more."""
    labels: SignalLabelsOut
    """What is known of the signals."""
    confusion: ConfusionOut
    """The candidate's decisions about labelled signals. Source: CONTRACT 8."""
    precision: ProportionOut
    """The share of fraud in what the candidate escalates. Source: CONTRACT 8."""
    recall: ProportionOut
    """The share of the labelled fraud that the candidate escalates. Source: CONTRACT 8."""
    fpr: ProportionOut
    """The share of the legitimate signals that the candidate escalates. Source: CONTRACT 8."""
    cost: float
    """The cost of the candidate's wrong decisions. Format: 0 or more."""
    costs: CostsOut
    """The costs that were used."""
    live: LiveRuleOut
    """The live rule on the same signals."""
    promotion: PromotionOut
    """Whether the candidate is better than the live rule."""
    rules: list[RiskRuleEffectOut]
    """The effect of each rule. Format: in the order in which they decide."""
    threshold: SweptThresholdOut | None
    """The number that the curve varies. Format: null if no rule compares a number."""
    curve: list[CurvePointOut]
    """The result for each value of the threshold. Format: about as many as `points`; lowest value first.
    Source: CONTRACT 8.
    """
    flips: list[RiskFlipOut]
    """The signals that the candidate decides otherwise than the live rule.
    Format: at most 10; from escalate to pass first. Source: CONTRACT 8.
    """
    examples: list[SignalExampleOut]
    """Examples of each kind of result. Format: at most 5 of each kind. Source: CONTRACT 8."""
    explanation: ExplainedSignalOut | None
    """The decision about one signal. Format: null if none was requested."""
