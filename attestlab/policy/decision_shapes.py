"""Wire models of decisions: to evaluate, and with their explanation (CONTRACT section 9)."""

from pydantic import model_validator

from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.policy.language.document import Category, TargetType
from attestlab.policy.shapes import Categories, Effects, Modes, Targets


class EvaluateIn(In):
    """Action, target and context of an evaluation; `category` and `binding_target_type` are aliases."""

    action: Category | None = None
    category: Category | None = None
    target_type: TargetType | None = None
    binding_target_type: TargetType | None = None
    target_id: Uuid | None = None
    context: dict[str, object]

    @model_validator(mode="after")
    def _says_each_once(self) -> "EvaluateIn":
        if (self.action is None) == (self.category is None):
            raise ValueError("Send exactly one of `action` and its alias `category`.")
        if (self.target_type is None) == (self.binding_target_type is None):
            raise ValueError("Send exactly one of `target_type` and its alias `binding_target_type`.")
        return self


class DiagnosticOut(Out):
    """The reason why an element of a context counts as missing or is ignored."""

    path: str
    code: str
    message: str


class EvaluateOut(Out):
    """A decision, in both documented shapes."""

    allowed: bool
    matched_rules: list[str]
    reasons: list[str]
    decision_id: str
    decision: Effects
    matched_policy: str | None
    matched_rule: str | None
    reason: str | None
    input_sha256: str
    diagnostics: list[DiagnosticOut]


class ExplainedRuleOut(Out):
    """A rule and whether it matched; `when` is its condition with the truth value of every node."""

    id: str
    effect: Effects
    mode: Modes
    priority: int
    matched: bool
    when: dict[str, object]


class ExplainedPolicyOut(Out):
    """The result of one policy; one with `counts` false is in shadow or in MONITOR mode, and at most one is
    `deciding`.
    """

    policy_id: Uuid
    name: str
    version: int
    digest: str
    counts: bool
    deciding: bool
    effect: Effects
    matched_rules: list[str]
    monitored_rules: list[str]
    missing: list[str]
    rules: list[ExplainedRuleOut]


class ChangeOut(Out):
    """Another value of one attribute; `above` and `below` are the open bounds of equally sufficient values."""

    path: str
    before: str | float | bool | None
    after: str | float | bool
    above: float | None
    below: float | None


class CounterfactualOut(Out):
    """The fewest changes that reverse the decision; null if there are none, or, if not `complete`, none was found."""

    changes: list[ChangeOut] | None
    complete: bool


class DecisionOut(Out):
    """A decision with its explanation; `reproduced` is true if evaluating it again gave the same result.

    `matched_policy` decided, by `matched_rule` unless its default did, as in the response of `evaluate`.
    """

    decision_id: str
    created_at: Moment
    action: Categories
    target_type: Targets
    target_id: Uuid | None
    context: dict[str, object]
    input_sha256: str
    policy_set_digest: str
    allowed: bool
    decision: Effects
    matched_rules: list[str]
    reasons: list[str]
    matched_policy: str | None
    matched_rule: str | None
    reason: str | None
    diagnostics: list[DiagnosticOut]
    policies: list[ExplainedPolicyOut]
    counterfactual: CounterfactualOut
    reproduced: bool
