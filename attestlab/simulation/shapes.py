"""Wire models of simulations (CONTRACT section 9)."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.policy.decision_shapes import CounterfactualOut
from attestlab.policy.language.attributes import PATH_LENGTH
from attestlab.policy.shapes import Categories, Effects, SentPolicy, Targets

Paths = Annotated[list[Annotated[str, Field(max_length=PATH_LENGTH)]], Field(max_length=3, default_factory=list)]


class ThresholdIn(In, source="CONTRACT 9"):
    """A number that a rule of the draft compares an attribute with; `op` if there are several."""

    rule_id: Annotated[str, Field(max_length=64)]
    """The rule that compares. Format: 1-64 characters."""
    attribute: Annotated[str, Field(max_length=PATH_LENGTH)]
    """The attribute that it compares. Format: dotted path."""
    op: Literal["lt", "lte", "gt", "gte"] | None = None
    """The operator, where the rule has several comparisons of the attribute. Format: lt, lte, gt or gte."""

    @property
    def name(self) -> tuple[str, str, str | None]:
        """The threshold as a simulation names it."""
        return self.rule_id, self.attribute, self.op


class SimulateIn(In, wire_name="simulation_input", source="CONTRACT 9"):
    """A document, or the id of a policy whose newest version is simulated; with both, the document replaces that
    policy.
    """

    policy: SentPolicy | None = None
    """The draft; with policy_id it replaces that policy, otherwise it joins. Format: a policy document."""
    policy_id: Uuid | None = None
    """The policy whose newest version is simulated, or that the draft replaces. Format: UUID, 36 characters."""
    from_: Annotated[Moment | None, Field(alias="from")] = None
    """Only decisions at or after this moment. Format: RFC 3339 date-time with an offset."""
    to: Moment | None = None
    """Only decisions before this moment. Format: RFC 3339 date-time with an offset."""
    by: Paths
    """The attributes that divide flips into segments. Format: dotted paths, at most 3."""
    sweep: Annotated[list[ThresholdIn], Field(max_length=2, default_factory=list)]
    """Thresholds of the draft to vary. Format: at most 2."""
    sweeps: Annotated[
        list[Annotated[list[ThresholdIn], Field(min_length=1, max_length=2)]],
        Field(max_length=4, default_factory=list),
    ]
    """Further sweeps, each as `sweep`; all of them read the past decisions once. Format: at most 4."""
    points: Annotated[int, Field(ge=1, le=1_000)] = 200
    """The number of values of each threshold. Format: 1-1000, by default 200."""
    counterfactual: Annotated[str | None, Field(max_length=64)] = None
    """A past decision to find the smallest change for. Format: a decision id."""
    rule: Annotated[str | None, Field(max_length=64)] = None
    """A rule of the draft to look at alone: what it denies or allows, and for whom. Format: 1-64 characters."""

    @model_validator(mode="after")
    def _says_something(self) -> "SimulateIn":
        if self.policy is None and self.policy_id is None:
            raise ValueError("Send `policy` (a document), `policy_id`, or both.")
        return self

    def without_document(self) -> "SimulateIn":
        """Return the options alone, for another process: a document may be large, and it gets that as bytes."""
        return self.model_copy(update={"policy": None})


class SimulatedPolicyOut(Out, source="CONTRACT 9"):
    """The simulated policy; `id` is null for a document without a policy, `version` for one that is not saved yet."""

    id: Uuid | None
    """The policy; null for a text that belongs to no policy. Format: UUID, 36 characters."""
    version: int | None
    """Its version; null for a text in the request. Format: 1 or more."""
    name: str
    """Its name. Format: 1-128 characters."""
    digest: str
    """Digest of the document. Format: SHA-256, 64 lowercase hex digits."""
    category: Categories
    """The action. Format: MINT, VERIFY or BUNDLE_EXPORT."""
    target_type: Targets
    """The type of its target. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT."""
    target_id: Uuid | None
    """The id of the target. Format: UUID, 36 characters."""


class WindowOut(Out, wire_name="simulation_window", source="CONTRACT 9"):
    """The window of decisions: at or after `from`, before `to`; null is unbounded."""

    from_: Annotated[Moment | None, Field(serialization_alias="from", validation_alias="from")]
    """Decisions made at this time or later; null for no lower bound. Format: RFC 3339 date-time, UTC, milliseconds."""
    to: Moment | None
    """Decisions made before this time; null for no upper bound. Format: RFC 3339 date-time, UTC, milliseconds."""


class SelfCheckOut(Out, wire_name="simulation_self_check", source="CONTRACT 9"):
    """Whether the recorded policies reproduce their decisions; `retyped` decisions could not be compared."""

    decisions: int
    """The number of decisions that were evaluated again. Format: 0 or more."""
    unexpected_flips: int
    """The number of decisions that differ from the record. Format: 0 or more; 0 is expected."""
    retyped: int
    """The number of decisions that were not compared, because an attribute was changed since. Format: 0 or more."""
    examples: list[str]
    """Examples of decisions that differ from the record. Format: at most 20 decision ids."""


class TransitionOut(Out, wire_name="simulation_transition", source="CONTRACT 9"):
    """The number of decisions with one result before and one after."""

    from_: Annotated[Effects, Field(serialization_alias="from", validation_alias="from")]
    """The effect of the active policies. Format: ALLOW or DENY."""
    to: Effects
    """The effect with the draft. Format: ALLOW or DENY."""
    count: int
    """The number of decisions. Format: 1 or more."""


class FlipOut(TransitionOut, wire_name="simulation_flip", source="CONTRACT 9"):
    """The number of decisions of one segment that would flip."""

    segments: dict[str, object]
    """The values that these decisions share. Format: one member per entry of by."""


class ReasonOut(TransitionOut, wire_name="simulation_reason", source="CONTRACT 9"):
    """The deciders before and after; a null policy: none applied, a null rule: the policy's default."""

    policy_before: str | None
    """The policy that decides now. Format: UUID, or draft; null if no policy applies."""
    rule_before: str | None
    """Its rule. Format: 1-64 characters; null for the default."""
    policy_after: str | None
    """The policy that would decide.
    Format: UUID, or draft for a text that belongs to no policy; null if no policy applies.
    """
    rule_after: str | None
    """Its rule. Format: 1-64 characters; null for the default."""


class ExampleOut(ReasonOut, wire_name="simulation_example", source="CONTRACT 9"):
    """A decision that would flip, and how many others would for the same reason in the same segment.

    A mint without a decision has an attestation id instead of a decision id.
    """

    decision_id: str | None
    """The first of these decisions. Format: dec_ and a ULID."""
    attestation_id: Uuid | None
    """The first of these mints, if no policy decided them. Format: UUID, 36 characters. Source: docs/policies.md."""
    target_id: Uuid | None
    """The target of the decision. Format: UUID, 36 characters."""


class GroupOut(Out, wire_name="simulation_group", source="docs/http.md"):
    """The number of decisions with this new result, due to these rules; a null rule: the policy's default."""

    allowed: bool
    """The new decision. Format: true or false."""
    policy: str | None
    """The policy that would decide.
    Format: UUID, or draft for a text that belongs to no policy; null if no policy applies.
    """
    rule: str | None
    """Its rule. Format: 1-64 characters; null for the default."""
    matched_rules: list[str]
    """Ids of all enforced rules that would match. Format: the deciding one first."""
    count: int
    """The number of decisions. Format: 1 or more."""


class RuleEffectOut(Out, wire_name="simulation_rule", source="CONTRACT 9"):
    """The effect of a rule of the draft: matches, decisions, and the flips without it."""

    rule: str
    """Its id. Format: 1-64 characters."""
    effect: Effects
    """Its effect. Format: ALLOW or DENY."""
    priority: int
    """A lower number comes first. Format: 0 to 1,000,000."""
    hits: int
    """The number of decisions that it matches. Format: 0 or more."""
    decisive: int
    """The number of decisions in which it decides its policy. Format: 0 or more."""
    would_allow: int
    """Decisions that would be allowed without it. Format: 0 or more."""
    would_deny: int
    """Decisions that would be denied without it. Format: 0 or more."""


class RuleSegmentOut(Out, wire_name="simulation_rule_segment", source="docs/http.md"):
    """What a rule of the draft does in one segment."""

    segments: dict[str, object]
    """The values that these decisions share. Format: one member per entry of by, or target_id."""
    hits: int
    """The number of decisions that the rule matches. Format: 1 or more."""
    decisive: int
    """The number of decisions in which it decides its policy. Format: 0 or more."""
    would_allow: int
    """Decisions that would be allowed without it. Format: 0 or more."""
    would_deny: int
    """Decisions that would be denied without it. Format: 0 or more."""


class RuleAloneOut(RuleEffectOut, wire_name="simulation_rule_alone", source="docs/http.md"):
    """What one rule of the draft does alone: the draft with it against the draft without it, and for whom."""

    segments: list[RuleSegmentOut]
    """Its effect by segment. Format: at most 100; those that it changes most first."""
    targets: list[RuleSegmentOut]
    """Its effect by the target of the decisions, by default the issuer. Format: at most 100, as segments."""


class SweptOut(Out, wire_name="simulation_swept", source="CONTRACT 9"):
    """The result for one value of a threshold (or two)."""

    values: list[float]
    """The values of the thresholds. Format: one per swept threshold."""
    allowed: int
    """Decisions that would be allowed. Format: 0 or more."""
    denied: int
    """Decisions that would be denied. Format: 0 or more."""
    opened: int
    """Decisions that are denied now and would be allowed. Format: 0 or more."""
    closed: int
    """Decisions that are allowed now and would be denied. Format: 0 or more."""
    is_current: bool
    """Whether these are the thresholds of the draft. Format: true or false."""


class WithoutRiskOut(Out, wire_name="simulation_without_risk", source="docs/policies.md"):
    """The number of decisions that store nothing about the risk of an entity, which the draft tests."""

    entity: Literal["issuer", "document", "ip"]
    """The entity whose risk the draft tests. Format: issuer, document or ip."""
    decisions: int
    """The number of decisions that store nothing about its risk. Format: 0 or more."""


class ReportOut(Out, wire_name="simulation_report", source="CONTRACT 9"):
    """The results of a simulation; their canonical JSON is hashed and signed."""

    format: str
    """The format of the report, which determines its members. Format: simulation-report/2."""
    report_id: Uuid
    """Makes each report unique. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant whose decisions were replayed. Format: UUID, 36 characters."""
    policy: SimulatedPolicyOut
    """The simulated policy."""
    set_before: str
    """Digest of the enforced policies that decide now for the draft's own target.
    Format: SHA-256, 64 lowercase hex digits.
    """
    set_after: str
    """Digest of the policies that would decide; the policy_set_digest of decisions once the draft is active and no
    policy is in shadow. Format: SHA-256, 64 lowercase hex digits.
    """
    baseline_digest: str
    """Digest of all active policies for the action and of the tenant's attributes; once it changes, the report is
    stale. Format: SHA-256, 64 lowercase hex digits.
    """
    window: WindowOut
    """The time range of the decisions."""
    by: list[str]
    """The attributes by which flips are grouped. Format: at most 3; attributes or target_id."""
    self_check: SelfCheckOut
    """Whether the replayed decisions match the recorded ones."""
    decided: int
    """The number of replayed decisions, including mints that no policy decided. Format: 0 or more."""
    unasked: int
    """The number of them that are mints which no policy decided. Format: 0 or more. Source: docs/policies.md."""
    left_out: int
    """The size of the history outside of the window. Format: 0 or more. Source: docs/policies.md."""
    without_risk: list[WithoutRiskOut]
    """The number of decisions without the risk that the draft tests. Format: empty if the draft tests no risk.
    Source: docs/policies.md.
    """
    last_decision_seq: int | None
    """The line of the last decision in the audit trail. Format: null if there is no decision."""
    transitions: list[TransitionOut]
    """The number of decisions by recorded and by new effect. Format: at most 4."""
    flips: list[FlipOut]
    """The decisions that would change, by segment. Format: at most 100; from DENY to ALLOW first."""
    why: list[ReasonOut]
    """The decisions that would change, by deciding policy and rule. Format: at most 100; from DENY to ALLOW first."""
    examples: list[ExampleOut]
    """Examples of decisions that would change. Format: at most 20; from DENY to ALLOW first."""
    made_at: Moment
    """When the report was made; it is valid for 24 hours. Format: RFC 3339 date-time, UTC, milliseconds."""
    made_by: str
    """Who made the report. Format: UUID, 36 characters, or the part of the service."""


class SimulationOut(ReportOut, source="CONTRACT 9"):
    """A report with its digest and signature, and additional results, which neither covers.

    `contexts` are those of `examples`, in their order. `truncated` names the lists that leave rows out.
    """

    report_digest: str
    """Digest of the canonical JSON of the report; an activation refers to it. Format: SHA-256, 64 lowercase hex digits.
    """
    signature: str
    """Signature over the canonical JSON of the report; the key is at /v1/policies/simulations/jwks.json.
    Format: compact JWS, EdDSA.
    """
    groups: list[GroupOut]
    """The number of decisions by outcome and reason; not in the signed report. Format: at most 1,000; largest first.
    Source: docs/http.md.
    """
    contexts: list[dict[str, object]]
    """The typed contexts of the examples, by attribute; not in the signed report. Format: one per example.
    Source: docs/http.md.
    """
    counterfactual: CounterfactualOut | None
    """The changes that would reverse the new outcome of one decision; not in the signed report.
    Format: null if none was requested. Source: docs/http.md.
    """
    rules: list[RuleEffectOut]
    """The effect of each rule of the draft. Format: in the order in which they decide."""
    sweep: list[SweptOut] | None
    """The outcome for each value of a threshold. Format: null if none was requested."""
    sweeps: Sequence[list[SweptOut]]
    """The outcomes of the requested `sweeps`, each as `sweep`. Format: in the order of the request."""
    alone: RuleAloneOut | None
    """What the requested `rule` does alone; not in the signed report. Format: null if none was requested.
    Source: docs/http.md.
    """
    truncated: list[str]
    """The lists that have more rows than this answer; the largest rows come first.
    Format: of flips, why, groups, alone.segments and alone.targets.
    Source: docs/policies.md.
    """


class KeptReportOut(Out, wire_name="kept_simulation_report", source="CONTRACT 9"):
    """A stored report; `report` is exactly what `report_digest` and `signature` cover."""

    report_digest: str
    """Digest of the canonical JSON of report. Format: SHA-256, 64 lowercase hex digits."""
    report: dict[str, object]
    """The report as stored. Format: see simulation_report."""
    signature: str
    """Signature over the canonical JSON of report. Format: compact JWS, EdDSA."""
