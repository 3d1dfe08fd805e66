"""Decisions of policies: as they are made, as they were recorded, and explained."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from attestlab.client import card_contents
from attestlab.client.analysis.records import Records
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.policy.decision_shapes import DecisionOut, DiagnosticOut, EvaluateOut, ExplainedPolicyOut


class ExplanationHandle(DecisionOut, Handle):
    """A decision, explained: each rule's truth, what was missing, and the smallest change that reverses it."""

    shown_fields: ClassVar = ("decision_id", "decision", "action", "matched_rule", "reason", "created_at")

    diagnostics: Records[DiagnosticOut]
    policies: Records[ExplainedPolicyOut]

    def _repr_html_(self) -> str:
        return card_contents.draw_explanation(self, self.missing)

    @property
    def missing(self) -> list[str]:
        """The attributes that some policy asked for and the context did not have."""
        return sorted({name for policy in self.policies for name in policy.missing})


class DecisionHandle(EvaluateOut, Handle):
    """A decision of the policies in force."""

    shown_fields: ClassVar = ("decision_id", "decision", "matched_rule", "reason")

    diagnostics: Records[DiagnosticOut]

    def _repr_html_(self) -> str:
        return card_contents.draw_decision(self)

    def explain(self) -> ExplanationHandle:
        """Explain the decision; `lab.policies.explain` explains the result and errors.

        >>> lab.policies.evaluate("MINT", {"trust_tier": "BASIC"}).explain().decision
        'ALLOW'
        """
        return explain_decision(self._client, self.decision_id)


class RecordedDecisionHandle(Handle):
    """A decision as it was recorded: the result and the rules that matched, the deciding one first."""

    shown_fields: ClassVar = ("decision_id", "decision", "action", "matched_rule", "created_at")

    decision_id: str
    created_at: datetime
    action: str
    target_type: str
    target_id: str | None
    allowed: bool
    matched_rules: list[str]

    @property
    def decision(self) -> str:
        """The result: `ALLOW` or `DENY`."""
        return "ALLOW" if self.allowed else "DENY"

    @property
    def matched_rule(self) -> str | None:
        """The rule that decided; None if that was a default."""
        return self.matched_rules[0] if self.matched_rules else None

    def explain(self) -> ExplanationHandle:
        """Explain the decision; `lab.policies.explain` explains the result and errors.

        >>> next(lab.decisions.list(allowed=False, until="2026-11-02")).explain().matched_rule
        'old-key'
        """
        return explain_decision(self._client, self.decision_id)


def explain_decision(client: ServiceClient, decision_id: str) -> ExplanationHandle:
    """Explain a decision."""
    return ExplanationHandle.parse(client, client.get(path_of("v1", "policies", "decisions", decision_id)))
