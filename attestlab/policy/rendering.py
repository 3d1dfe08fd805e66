"""Renders policies and decisions as wire models."""

from __future__ import annotations

import json
from uuid import UUID

from attestlab.core.row_rendering import RowRenderer
from attestlab.policy.analysis.analyzer import AnalysisFinding
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
from attestlab.policy.evaluation.explanation import ExplainedRule
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
from attestlab.policy.tables import PolicyDecisionRecord, PolicyVersionRecord, TenantPolicyRecord
from attestlab.web.response import JSON, RawResponse

render_summary = RowRenderer(PolicySummaryOut, TenantPolicyRecord, computed=["digest"])
_render_diagnostic = RowRenderer(DiagnosticOut, Diagnostic)
_render_change = RowRenderer(ChangeOut, ValueChange)
_render_version_row: RowRenderer[PolicyVersionRecord | PolicyVersionSummary, PolicyVersionSummaryOut] = RowRenderer(
    PolicyVersionSummaryOut, PolicyVersionSummary, computed=["status"]
)
render_counterfactual = RowRenderer(
    CounterfactualOut,
    Counterfactual,
    changes=lambda found: None if found.changes is None else list(map(_render_change, found.changes)),
)
render_decision = RowRenderer(
    EvaluateOut,
    EvaluatedDecision,
    parts={"row": PolicyDecisionRecord, "decision": SetDecision},
    decision_id="row.id",
    allowed="decision.allowed",
    matched_rules="decision.matched_rules",
    decision=lambda decided: _name_effect(decided.decision.allowed),
    diagnostics=lambda decided: list(map(_render_diagnostic, decided.diagnostics)),
)
render_explanation = RowRenderer(
    DecisionOut,
    Explanation,
    parts={"row": PolicyDecisionRecord, "decision": SetDecision},
    decision_id="row.id",
    allowed="row.allowed",
    context=lambda found: json.loads(found.row.input)["context"],
    decision=lambda found: _name_effect(found.row.allowed),
    matched_rules=lambda found: json.loads(found.row.matched_rules),
    diagnostics=lambda found: [_render_diagnostic(Diagnostic(*each)) for each in json.loads(found.row.diagnostics)],
    policies=lambda found: [_render_policy_explanation(each, found.decision) for each in found.policies],
    counterfactual=lambda found: render_counterfactual(found.counterfactual),
)
_render_explained_rule = RowRenderer(
    ExplainedRuleOut,
    ExplainedRule,
    id=lambda explained: explained.rule.id,
    effect=lambda explained: explained.rule.effect.value,
    mode=lambda explained: explained.rule.mode.value,
    priority=lambda explained: explained.rule.priority,
    when=lambda explained: explained.when.json(),
)
_render_finding = RowRenderer(
    FindingOut,
    AnalysisFinding,
    kind=lambda finding: finding.kind.value,
    witness=lambda finding: _render_witness(finding.witness),
)
render_analysis = RowRenderer(
    AnalysisOut,
    AnalysisReport,
    findings=lambda found: list(map(_render_finding, found.findings)),
    equivalent=lambda found: None if found.comparison is None else found.comparison.equivalent,
    witness=lambda found: None if found.comparison is None else _render_witness(found.comparison.witness),
)


def render_policy(row: TenantPolicyRecord, version: PolicyVersionRecord) -> RawResponse:
    """Render a policy with its newest document, as JSON of `PolicyOut`.

    A document can have a megabyte, so it is copied instead of parsed. The stored document is canonical JSON, so
    `tests`, if present, is its last member.
    """
    text = version.document
    in_document = {"name", "category", "target_type", *([] if row.target_id is None else ["target_id"])}
    rest = render_summary(row, digest=version.digest).model_dump_json(exclude=in_document)
    tests = "" if text.endswith("]}") else '"tests":null,'
    return RawResponse(f"{text[:-1]},{tests}{rest[1:]}".encode(), JSON)


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
    return _render_version_row(version, status=status.value)


def render_attributes(registry: Registry) -> AttributesOut:
    """Render a registry."""
    return AttributesOut(
        items=[
            AttributeOut.model_validate({**dump_attribute(each), "own": path not in PLATFORM})
            for path, each in registry.items()
        ]
    )


def _name_effect(allowed: bool) -> Effects:
    return "ALLOW" if allowed else "DENY"


def _render_policy_explanation(found: ExplainedPolicy, decision: SetDecision) -> ExplainedPolicyOut:
    result = next(each for each in decision.results if each.member is found.member)
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
        rules=list(map(_render_explained_rule, found.rules)),
    )


def _render_witness(values: Values | None) -> dict[str, object] | None:
    return None if values is None else {**values}
