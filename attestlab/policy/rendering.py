"""Renders policies and decisions as wire models."""

from __future__ import annotations

import json
from uuid import UUID

from attestlab.core.row_rendering import RowRenderer
from attestlab.policy.decision_shapes import (
    ChangeOut,
    CounterfactualOut,
    DecisionOut,
    DiagnosticOut,
    EvaluateOut,
    ExplainedPolicyOut,
    ExplainedRuleOut,
)
from attestlab.policy.decisions import EvaluatedDecision, ExplainedPolicy, Explanation
from attestlab.policy.evaluation.counterfactual import Counterfactual, ValueChange
from attestlab.policy.evaluation.policy_set import SetDecision
from attestlab.policy.language.attribute_documents import dump_attribute
from attestlab.policy.language.attributes import PLATFORM, Registry
from attestlab.policy.language.context import Diagnostic, Values
from attestlab.policy.rules import status_of_version
from attestlab.policy.service import AnalysisReport
from attestlab.policy.shapes import (
    AnalysisOut,
    AttributeOut,
    AttributesOut,
    Effects,
    FindingOut,
    PolicySummaryOut,
    PolicyVersionSummaryOut,
)
from attestlab.policy.store import PolicyVersionSummary
from attestlab.policy.tables import PolicyVersionRecord, TenantPolicyRecord
from attestlab.web.response import JSON, RawResponse

_render_policy_row = RowRenderer(PolicySummaryOut, TenantPolicyRecord, computed=["digest"])
_render_diagnostic = RowRenderer(DiagnosticOut, Diagnostic)
_render_change = RowRenderer(ChangeOut, ValueChange)


def render_policy(row: TenantPolicyRecord, version: PolicyVersionRecord) -> RawResponse:
    """Render a policy with its newest document, as JSON of `PolicyOut`.

    A document can have a megabyte, so it is copied instead of parsed. The stored document is canonical JSON, so
    `tests`, if present, is its last member.
    """
    text = version.document
    in_document = {"name", "category", "target_type", *([] if row.target_id is None else ["target_id"])}
    rest = render_summary(row, version).model_dump_json(exclude=in_document)
    tests = "" if text.endswith("]}") else '"tests":null,'
    return RawResponse(f"{text[:-1]},{tests}{rest[1:]}".encode(), JSON)


def render_summary(row: TenantPolicyRecord, version: PolicyVersionRecord | PolicyVersionSummary) -> PolicySummaryOut:
    """Render a policy without its document."""
    return _render_policy_row(row, digest=version.digest)


def render_version(row: TenantPolicyRecord, version: PolicyVersionRecord) -> RawResponse:
    """Render one version of a policy, as JSON of `PolicyVersionOut`; its document is copied, not parsed."""
    rest = render_version_summary(row, version).model_dump_json()
    return RawResponse(f'{rest[:-1]},"document":{version.document}}}'.encode(), JSON)


def render_version_summary(
    row: TenantPolicyRecord, version: PolicyVersionRecord | PolicyVersionSummary
) -> PolicyVersionSummaryOut:
    """Render one version of a policy without its document."""
    status = status_of_version(
        version.version, status=row.status, active_version=row.active_version, shadow_version=row.shadow_version
    )
    return PolicyVersionSummaryOut(
        policy_id=version.policy_id,
        version=version.version,
        status=status.value,
        digest=version.digest,
        author=version.author,
        created_at=version.created_at,
    )


def render_attributes(registry: Registry) -> AttributesOut:
    """Render a registry."""
    return AttributesOut(
        items=[
            AttributeOut.model_validate({**dump_attribute(each), "own": path not in PLATFORM})
            for path, each in registry.items()
        ]
    )


def render_decision(decided: EvaluatedDecision) -> EvaluateOut:
    """Render a decision in both documented shapes."""
    decision = decided.decision
    return EvaluateOut(
        allowed=decision.allowed,
        matched_rules=list(decision.matched_rules),
        reasons=list(decision.reasons),
        decision_id=decided.row.id,
        decision=_effect(decision),
        matched_policy=decision.matched_policy,
        matched_rule=decision.matched_rule,
        reason=decision.reason,
        input_sha256=decided.row.input_sha256,
        diagnostics=list(map(_render_diagnostic, decided.diagnostics)),
    )


def _effect(decision: SetDecision) -> Effects:
    return "ALLOW" if decision.allowed else "DENY"


def render_explanation(found: Explanation) -> DecisionOut:
    """Render a decision with its explanation."""
    row, decision = found.row, found.decision
    shown = {name: value for name, value in row._asdict().items() if name in DecisionOut.model_fields}
    diagnostics = [
        DiagnosticOut(path=path, code=code, message=message) for path, code, message in json.loads(row.diagnostics)
    ]
    return DecisionOut.model_validate(
        {
            **shown,
            "decision_id": row.id,
            "context": json.loads(row.input)["context"],
            "decision": "ALLOW" if row.allowed else "DENY",
            "matched_rules": json.loads(row.matched_rules),
            "reasons": list(decision.reasons),
            "matched_policy": decision.matched_policy,
            "matched_rule": decision.matched_rule,
            "reason": decision.reason,
            "diagnostics": diagnostics,
            "policies": [_render_policy_explanation(each, decision) for each in found.policies],
            "counterfactual": render_counterfactual(found.counterfactual),
            "reproduced": found.reproduced,
        }
    )


def render_counterfactual(found: Counterfactual) -> CounterfactualOut:
    """Render a counterfactual."""
    changes = None if found.changes is None else list(map(_render_change, found.changes))
    return CounterfactualOut(changes=changes, complete=found.complete)


def _render_policy_explanation(found: ExplainedPolicy, decision: SetDecision) -> ExplainedPolicyOut:
    result = next(each for each in decision.results if each.member is found.member)
    rules = [
        ExplainedRuleOut(
            id=each.rule.id,
            effect=each.rule.effect.value,
            mode=each.rule.mode.value,
            priority=each.rule.priority,
            matched=each.matched,
            when=each.when.json(),
        )
        for each in found.rules
    ]
    return ExplainedPolicyOut(
        policy_id=UUID(found.member.id),
        name=found.member.policy.name,
        version=found.version,
        digest=found.member.digest,
        counts=found.member.is_enforced,
        deciding=result is decision.deciding_result,
        effect=found.effect.value,
        matched_rules=list(result.decision.matched),
        monitored_rules=list(result.decision.monitored),
        missing=list(found.missing),
        rules=rules,
    )


def render_analysis(found: AnalysisReport) -> AnalysisOut:
    """Render the results of an analysis."""
    findings = [
        FindingOut(kind=each.kind.value, rule_id=each.rule_id, by=list(each.by), witness=_render_witness(each.witness))
        for each in found.findings
    ]
    comparison = found.comparison
    return AnalysisOut(
        findings=findings,
        equivalent=None if comparison is None else comparison.equivalent,
        witness=None if comparison is None else _render_witness(comparison.witness),
    )


def _render_witness(values: Values | None) -> dict[str, object] | None:
    return None if values is None else {**values}
