"""Wire models of simulations (CONTRACT section 9)."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.policy.decision_shapes import CounterfactualOut
from attestlab.policy.language.attributes import PATH_LENGTH
from attestlab.policy.shapes import Categories, Effects, SentPolicy, Targets

Paths = Annotated[list[Annotated[str, Field(max_length=PATH_LENGTH)]], Field(max_length=3, default_factory=list)]


class ThresholdIn(In):
    """A number that a rule of the draft compares an attribute with; `op` if there are several."""

    rule_id: Annotated[str, Field(max_length=64)]
    attribute: Annotated[str, Field(max_length=PATH_LENGTH)]
    op: Literal["lt", "lte", "gt", "gte"] | None = None

    @property
    def name(self) -> tuple[str, str, str | None]:
        """The threshold as a simulation names it."""
        return self.rule_id, self.attribute, self.op


class SimulateIn(In):
    """A document, or the id of a policy whose newest version is simulated; with both, the document replaces that
    policy.
    """

    policy: SentPolicy | None = None
    policy_id: Uuid | None = None
    from_: Annotated[Moment | None, Field(alias="from")] = None
    to: Moment | None = None
    by: Paths
    sweep: Annotated[list[ThresholdIn], Field(max_length=2, default_factory=list)]
    sweeps: Annotated[
        list[Annotated[list[ThresholdIn], Field(min_length=1, max_length=2)]],
        Field(max_length=4, default_factory=list),
    ]
    points: Annotated[int, Field(ge=1, le=1_000)] = 200
    counterfactual: Annotated[str | None, Field(max_length=64)] = None

    @model_validator(mode="after")
    def _says_something(self) -> "SimulateIn":
        if self.policy is None and self.policy_id is None:
            raise ValueError("Send `policy` (a document), `policy_id`, or both.")
        return self


class SimulatedPolicyOut(Out):
    """The simulated policy; `id` is null for a document without a policy, `version` for one that is not saved yet."""

    id: Uuid | None
    version: int | None
    name: str
    digest: str
    category: Categories
    target_type: Targets
    target_id: Uuid | None


class WindowOut(Out):
    """The window of decisions: at or after `from`, before `to`; null is unbounded."""

    from_: Annotated[Moment | None, Field(serialization_alias="from", validation_alias="from")]
    to: Moment | None


class SelfCheckOut(Out):
    """Whether the recorded policies reproduce their decisions; `retyped` decisions could not be compared."""

    decisions: int
    unexpected_flips: int
    retyped: int
    examples: list[str]


class TransitionOut(Out):
    """The number of decisions with one result before and one after."""

    from_: Annotated[Effects, Field(serialization_alias="from", validation_alias="from")]
    to: Effects
    count: int


class FlipOut(TransitionOut):
    """The number of decisions of one segment that would flip."""

    segments: dict[str, object]


class ReasonOut(TransitionOut):
    """The deciders before and after; a null policy: none applied, a null rule: the policy's default."""

    policy_before: str | None
    rule_before: str | None
    policy_after: str | None
    rule_after: str | None


class ExampleOut(ReasonOut):
    """A decision that would flip, and how many others would for the same reason in the same segment.

    A mint without a decision has an attestation id instead of a decision id.
    """

    decision_id: str | None
    attestation_id: Uuid | None
    target_id: Uuid | None


class GroupOut(Out):
    """The number of decisions with this new result, due to these rules; a null rule: the policy's default."""

    allowed: bool
    policy: str | None
    rule: str | None
    matched_rules: list[str]
    count: int


class RuleEffectOut(Out):
    """The effect of a rule of the draft: matches, decisions, and the flips without it."""

    rule: str
    effect: Effects
    priority: int
    hits: int
    decisive: int
    would_allow: int
    would_deny: int


class SweptOut(Out):
    """The result for one value of a threshold (or two)."""

    values: list[float]
    allowed: int
    denied: int
    opened: int
    closed: int
    is_current: bool


class WithoutRiskOut(Out):
    """The number of decisions that store nothing about the risk of an entity, which the draft tests."""

    entity: Literal["issuer", "document", "ip"]
    decisions: int


class ReportOut(Out):
    """The results of a simulation; their canonical JSON is hashed and signed."""

    format: str
    report_id: Uuid
    tenant_id: Uuid
    policy: SimulatedPolicyOut
    set_before: str
    set_after: str
    baseline_digest: str
    window: WindowOut
    by: list[str]
    self_check: SelfCheckOut
    decided: int
    unasked: int
    left_out: int
    without_risk: list[WithoutRiskOut]
    last_decision_seq: int | None
    transitions: list[TransitionOut]
    flips: list[FlipOut]
    why: list[ReasonOut]
    examples: list[ExampleOut]
    made_at: Moment
    made_by: str


class SimulationOut(ReportOut):
    """A report with its digest and signature, and additional results, which neither covers.

    `contexts` are those of `examples`, in their order. `truncated` names the lists that leave rows out.
    """

    report_digest: str
    signature: str
    groups: list[GroupOut]
    contexts: list[dict[str, object]]
    counterfactual: CounterfactualOut | None
    rules: list[RuleEffectOut]
    sweep: list[SweptOut] | None
    sweeps: Sequence[list[SweptOut]]
    truncated: list[str]


class KeptReportOut(Out):
    """A stored report; `report` is exactly what `report_digest` and `signature` cover."""

    report_digest: str
    report: dict[str, object]
    signature: str
