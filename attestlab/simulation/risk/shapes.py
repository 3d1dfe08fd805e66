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
Decisions = Literal["pass", "escalate"]
Labels = Literal["fraud", "legitimate", "inconclusive", "open", "none"]


class RiskRuleIn(In):
    """A rule: signals for which its condition holds are escalated. Conditions are those of policies."""

    id: Annotated[str, Field(max_length=64)]
    when: Annotated[dict[str, object], DescribedAs(Condition)]


class CostsIn(In):
    """The cost of one missed fraud and of one false alarm, in any unit."""

    missed_fraud: Cost = COST_OF_MISSED_FRAUD
    false_alarm: Cost = COST_OF_FALSE_ALARM


class SimulateRiskIn(In):
    """Rules to replay over the signals that occurred at or after `from` and before `to`."""

    rules: Annotated[list[RiskRuleIn], Field(max_length=MAX_SENT_RULES)]
    from_: Annotated[Moment | None, Field(alias="from")] = None
    to: Moment | None = None
    costs: CostsIn = CostsIn()
    threshold: ThresholdIn | None = None
    points: Annotated[int, Field(ge=1, le=1_000)] = 100
    explain: Uuid | None = None


class ProportionOut(Out):
    """A share with its 95 % Wilson interval; null if nothing was observed."""

    value: float | None
    low: float
    high: float


class ConfusionOut(Out):
    """Labelled signals by label and decision: positive is escalated, true is correct."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int


class LabelCountOut(Out):
    """The signals with one label, and the cases that gave it."""

    signals: int
    cases: int


class SignalLabelsOut(Out):
    """What is known of the replayed signals; only fraud and legitimate signals count in the confusion matrix."""

    fraud: LabelCountOut
    legitimate: LabelCountOut
    inconclusive: LabelCountOut
    open: LabelCountOut
    none: LabelCountOut


class LiveRuleOut(Out):
    """The tenant's escalation threshold on the same signals."""

    escalation_threshold: float
    confusion: ConfusionOut
    precision: ProportionOut
    recall: ProportionOut
    fpr: ProportionOut
    cost: float


class CostsOut(Out):
    """The costs that were used."""

    missed_fraud: float
    false_alarm: float


class SweptThresholdOut(Out):
    """The number in a rule that the curve varies."""

    rule_id: str
    attribute: str
    op: Literal["lt", "lte", "gt", "gte"]
    value: float


class CurvePointOut(ConfusionOut):
    """The result for one value of the threshold; shares are null if nothing was observed."""

    value: float
    precision: float | None
    recall: float | None
    fpr: float | None
    cost: float
    is_current: bool


class RiskFlipOut(Out):
    """The number of signals with one label that the candidate decides otherwise than the live rule."""

    from_: Annotated[Decisions, Field(serialization_alias="from", validation_alias="from")]
    to: Decisions
    label: Labels
    count: int


class RiskRuleEffectOut(Out):
    """The signals that a rule is the first to escalate."""

    rule_id: str
    escalated: int
    fraud: int
    legitimate: int


class SignalExampleOut(Out):
    """A signal with the candidate's decision and the values that decided it."""

    kind: Literal["true_positive", "false_positive", "miss", "newly_escalated", "newly_passed"]
    signal_id: UUID
    entity_type: EntityTypeName
    entity_id: str
    occurred_at: Moment
    label: Labels
    case_id: UUID | None
    live: Decisions
    candidate: Decisions
    rule_id: str | None
    values: dict[str, str | float | int]


class GateCheckOut(Out):
    """One condition of the promotion gate."""

    name: Literal["labels", "recall", "false_positive_rate", "improvement"]
    passed: bool
    reason: str


class PromotionOut(Out):
    """Whether the candidate is better than the live rule: every check has passed."""

    is_better: bool
    summary: str
    checks: list[GateCheckOut]


class ExplainedRiskRuleOut(Out):
    """A rule on one signal; `when` is its condition with the truth value of every node."""

    rule_id: str
    matched: bool
    when: dict[str, object]


class ExplainedSignalOut(Out):
    """The candidate's decision about one signal; `rule_id` is null if it passes."""

    signal_id: UUID
    decision: Decisions
    rule_id: str | None
    values: dict[str, str | float | int]
    rules: list[ExplainedRiskRuleOut]


class RiskSimulationOut(Out):
    """What a rule set would have decided, compared with the outcomes of cases and with the live rule."""

    window: WindowOut
    signals: int
    labels: SignalLabelsOut
    confusion: ConfusionOut
    precision: ProportionOut
    recall: ProportionOut
    fpr: ProportionOut
    cost: float
    costs: CostsOut
    live: LiveRuleOut
    promotion: PromotionOut
    rules: list[RiskRuleEffectOut]
    threshold: SweptThresholdOut | None
    curve: list[CurvePointOut]
    flips: list[RiskFlipOut]
    examples: list[SignalExampleOut]
    explanation: ExplainedSignalOut | None
