"""Wire models of decisions: to evaluate, and with their explanation (CONTRACT section 9)."""

from pydantic import model_validator

from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.policy.language.document import Category, TargetType
from attestlab.policy.shapes import Categories, Effects, Modes, Targets


class EvaluateIn(In, wire_name="policy_evaluation_input", source="CONTRACT 9"):
    """Action, target and context of an evaluation; `category` and `binding_target_type` are aliases."""

    action: Category | None = None
    """What is decided about. Format: MINT, VERIFY or BUNDLE_EXPORT."""
    category: Category | None = None
    """Another name of action; send one of them. Format: MINT, VERIFY or BUNDLE_EXPORT."""
    target_type: TargetType | None = None
    """The kind of target that policies are bound to. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT."""
    binding_target_type: TargetType | None = None
    """Another name of target_type; send one of them. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT."""
    target_id: Uuid | None = None
    """The issuer or profile; none for TENANT_DEFAULT. Format: UUID, 36 characters."""
    context: dict[str, object]
    """The values that rules compare. Format: attributes, nested or with dotted names."""

    @model_validator(mode="after")
    def _says_each_once(self) -> "EvaluateIn":
        if (self.action is None) == (self.category is None):
            raise ValueError("Send exactly one of `action` and its alias `category`.")
        if (self.target_type is None) == (self.binding_target_type is None):
            raise ValueError("Send exactly one of `target_type` and its alias `binding_target_type`.")
        return self


class DiagnosticOut(Out, wire_name="policy_diagnostic", source="CONTRACT 9"):
    """The reason why an element of a context counts as missing or is ignored."""

    path: str
    """The path in the context. Format: at most 64 characters."""
    code: str
    """Why it was not accepted. Format: unknown_attribute, wrong_type, out_of_domain or given_twice."""
    message: str
    """A description for people. Format: text."""


class EvaluateOut(Out, wire_name="policy_evaluation", source="SPEC Policies"):
    """A decision, in both documented shapes."""

    allowed: bool
    """Whether all enforced policies allow. Format: true or false."""
    matched_rules: list[str]
    """Ids of all enforced rules that match; if matched_rule is null, none of them decided.
    Format: if a rule decided, it is first.
    """
    reasons: list[str]
    """The reasons of the denial. Format: empty if allowed."""
    decision_id: str
    """The id of the stored decision. Format: dec_ and a ULID."""
    decision: Effects
    """The same as allowed, in the other documented shape. Format: ALLOW or DENY."""
    matched_policy: str | None
    """The name of the policy that decided; null if none applies. Format: 1-128 characters."""
    matched_rule: str | None
    """The id of the rule that decided; null if a default decided. Format: 1-64 characters."""
    reason: str | None
    """The reason, in one sentence. Format: text."""
    input_sha256: str
    """Digest of the canonical JSON of action, target and typed context. Format: SHA-256, 64 lowercase hex digits.
    Source: CONTRACT 9.
    """
    diagnostics: list[DiagnosticOut]
    """The parts of the context that were not accepted. Format: at most 20. Source: CONTRACT 9."""


class ExplainedRuleOut(Out, wire_name="policy_explained_rule", source="CONTRACT 9"):
    """A rule and whether it matched; `when` is its condition with the truth value of every node."""

    id: str
    """The rule. Format: 1-64 characters."""
    effect: Effects
    """Its effect if it matches. Format: ALLOW or DENY."""
    mode: Modes
    """Whether it is enforced. Format: ENFORCE or MONITOR."""
    priority: int
    """Its position in the order of rules. Format: from 0, a lower one comes first."""
    matched: bool
    """Whether its condition is true. Format: true or false."""
    when: dict[str, object]
    """The condition with the truth value of every node. Format: kind, truth, and parts or attr, op, value and actual.
    """


class ExplainedPolicyOut(Out, wire_name="policy_explained", source="CONTRACT 9"):
    """The result of one policy; one with `counts` false is in shadow or in MONITOR mode, and at most one is
    `deciding`.
    """

    policy_id: Uuid
    """The policy. Format: UUID, 36 characters."""
    name: str
    """Its name in that version. Format: 1-128 characters."""
    version: int
    """The evaluated version. Format: from 1."""
    digest: str
    """Digest of that version. Format: SHA-256, 64 lowercase hex digits."""
    counts: bool
    """Whether it was enforced; false in shadow, and in mode MONITOR. Format: true or false."""
    deciding: bool
    """Whether it is the one that decided. Format: true or false."""
    effect: Effects
    """Its result. Format: ALLOW or DENY."""
    matched_rules: list[str]
    """Enforced rules that match. Format: in the order in which they decide."""
    monitored_rules: list[str]
    """Rules that match and only monitor. Format: rule ids."""
    missing: list[str]
    """Attributes that it uses and that the context lacks. Format: dotted paths."""
    rules: list[ExplainedRuleOut]
    """Its rules, one by one. Format: in the order in which they decide."""


class ChangeOut(Out, wire_name="policy_change", source="CONTRACT 9"):
    """Another value of one attribute; `above` and `below` are the open bounds of equally sufficient values."""

    path: str
    """The attribute. Format: a dotted path."""
    before: str | float | bool | None
    """Its value; null if it is missing. Format: a typed value."""
    after: str | float | bool
    """A value that would reverse the decision. Format: a typed value."""
    above: float | None
    """Other such values lie above this. Format: exclusive."""
    below: float | None
    """Other such values lie below this. Format: exclusive."""


class CounterfactualOut(Out, wire_name="policy_counterfactual", source="CONTRACT 9"):
    """The fewest changes that reverse the decision; null if there are none, or, if not `complete`, none was found."""

    changes: list[ChangeOut] | None
    """The changes that would reverse the decision; null if none were found. Format: as few as possible."""
    complete: bool
    """False if the search was stopped early. Format: true or false."""


class DecisionOut(Out, wire_name="policy_decision", source="CONTRACT 9"):
    """A decision with its explanation; `reproduced` is true if evaluating it again gave the same result.

    `matched_policy` decided, by `matched_rule` unless its default did, as in the response of `evaluate`.
    """

    decision_id: str
    """The decision. Format: dec_ and a ULID."""
    created_at: Moment
    """When it was made. Format: RFC 3339 date-time, UTC, milliseconds."""
    action: Categories
    """The action. Format: MINT, VERIFY or BUNDLE_EXPORT."""
    target_type: Targets
    """The type of the target. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT."""
    target_id: Uuid | None
    """The id of the target. Format: UUID, 36 characters."""
    context: dict[str, object]
    """The context of the decision. Format: typed values by dotted path."""
    input_sha256: str
    """Digest of the canonical JSON of action, target and typed context. Format: SHA-256, 64 lowercase hex digits."""
    policy_set_digest: str
    """Digest of the evaluated versions, and of which of them were enforced. Format: SHA-256, 64 lowercase hex digits.
    """
    allowed: bool
    """The decision. Format: true or false."""
    decision: Effects
    """The same as allowed, as a word. Format: ALLOW or DENY."""
    matched_rules: list[str]
    """Ids of all enforced rules that matched; if matched_rule is null, none of them decided.
    Format: if a rule decided, it is first.
    """
    reasons: list[str]
    """The reasons of the denial. Format: empty if allowed."""
    matched_policy: str | None
    """The name of the policy that decided; null if none was enforced. Format: 1-128 characters."""
    matched_rule: str | None
    """The id of the rule that decided; null if a default decided. Format: 1-64 characters."""
    reason: str | None
    """The reason, in one sentence. Format: text."""
    diagnostics: list[DiagnosticOut]
    """The parts of the context that were not accepted. Format: at most 20."""
    policies: list[ExplainedPolicyOut]
    """The result of each policy. Format: in the order of evaluation."""
    counterfactual: CounterfactualOut
    """The changes that would reverse the decision."""
    reproduced: bool
    """Whether a new evaluation gave the same result. Format: true or false."""
