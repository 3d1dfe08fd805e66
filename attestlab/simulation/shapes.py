"""What goes over the wire about simulations (CONTRACT section 9)."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.policy.language.attributes import PATH_LENGTH
from attestlab.policy.shapes import Categories, CounterfactualOut, Effects, Targets

Paths = Annotated[list[Annotated[str, Field(max_length=PATH_LENGTH)]], Field(max_length=3, default_factory=list)]


class ThresholdIn(In):
    """A number that a rule of the draft compares an attribute with; `op` where it has several."""

    rule_id: Annotated[str, Field(max_length=64)]
    attribute: Annotated[str, Field(max_length=PATH_LENGTH)]
    op: Literal["lt", "lte", "gt", "gte"] | None = None


class SimulateIn(In):
    """A document, or the id of a policy whose newest version is meant; both: a text in that policy's place."""

    policy: dict[str, Any] | None = None
    policy_id: Uuid | None = None
    from_: Annotated[Moment | None, Field(alias="from")] = None
    to: Moment | None = None
    by: Paths
    sweep: Annotated[list[ThresholdIn], Field(max_length=2, default_factory=list)]
    points: Annotated[int, Field(ge=1, le=1_000)] = 200
    counterfactual: Annotated[str | None, Field(max_length=64)] = None

    @model_validator(mode="after")
    def _says_something(self) -> "SimulateIn":
        if self.policy is None and self.policy_id is None:
            raise ValueError("Say `policy`, a document, or `policy_id`, or both.")
        return self


class SimulatedPolicyOut(Out):
    """What was tried; `id` is null for a text that is no policy's, `version` for one that was not written yet."""

    id: Uuid | None
    version: int | None
    name: str
    digest: str
    category: Categories
    target_type: Targets
    target_id: Uuid | None


class WindowOut(Out):
    """Decisions made at or after `from` and before `to`; null is no end."""

    from_: Annotated[Moment | None, Field(serialization_alias="from", validation_alias="from")]
    to: Moment | None


class SelfCheckOut(Out):
    """Whether the policies that decided still say what they said; `retyped` decisions could not be compared."""

    decisions: int
    unexpected_flips: int
    retyped: int
    examples: list[str]


class TransitionOut(Out):
    """How many decisions were so, or would be, and would be so."""

    from_: Annotated[Effects, Field(serialization_alias="from", validation_alias="from")]
    to: Effects
    count: int


class FlipOut(TransitionOut):
    """How many decisions would flip, of one segment."""

    segments: dict[str, Any]


class ReasonOut(TransitionOut):
    """Who decided before and after; a policy of null: none applied, a rule of null: the policy's default."""

    policy_before: str | None
    rule_before: str | None
    policy_after: str | None
    rule_after: str | None


class ExampleOut(ReasonOut):
    """What would flip, and how many more would for the same reason in the same segment.

    A decision, or a mint that no policy was asked about.
    """

    decision_id: str | None
    attestation_id: Uuid | None
    target_id: Uuid | None


class GroupOut(Out):
    """How many decisions would come out so, because of these rules; a rule of null: the policy's default."""

    allowed: bool
    policy: str | None
    rule: str | None
    matched_rules: list[str]
    count: int


class RuleEffectOut(Out):
    """What a rule of the draft does: matches, decides, and what would flip if it were not there."""

    rule: str
    effect: Effects
    priority: int
    hits: int
    decisive: int
    would_allow: int
    would_deny: int


class SweptOut(Out):
    """What a threshold (or two) at these values would bring about."""

    values: list[float]
    allowed: int
    denied: int
    opened: int
    closed: int
    is_current: bool


class ReportOut(Out):
    """What a simulation found; its canonical JSON is what is hashed and signed."""

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
    last_decision_seq: int | None
    transitions: list[TransitionOut]
    flips: list[FlipOut]
    why: list[ReasonOut]
    examples: list[ExampleOut]
    made_at: Moment
    made_by: str


class SimulationOut(ReportOut):
    """A report with its name and signature, and what is told beside it, which neither covers.

    `contexts` are those of `examples`, in their order.
    """

    report_digest: str
    signature: str
    groups: list[GroupOut]
    contexts: list[dict[str, Any]]
    counterfactual: CounterfactualOut | None
    rules: list[RuleEffectOut]
    sweep: list[SweptOut] | None


class KeptReportOut(Out):
    """A report that was kept; `report` is exactly what `report_digest` and `signature` cover."""

    report_digest: str
    report: dict[str, Any]
    signature: str
