"""Renders simulations as wire models."""

from __future__ import annotations

from typing import Any

from attestlab.policy.evaluation.counterfactual import Counterfactual
from attestlab.policy.shapes import ChangeOut, CounterfactualOut
from attestlab.simulation.shapes import GroupOut, KeptReportOut, RuleEffectOut, SimulationOut, SweptOut
from attestlab.simulation.signing import SignedReport


def render_simulation(signed: SignedReport, extras: dict[str, Any]) -> SimulationOut:
    """Render a report with its additional results."""
    sweep, counterfactual = extras["sweep"], extras["counterfactual"]
    return SimulationOut.model_validate(
        {
            **signed.content,
            "report_digest": signed.digest,
            "signature": signed.signature,
            "groups": [GroupOut(**row) for row in extras["groups"]],
            "contexts": extras["contexts"],
            "counterfactual": None if counterfactual is None else _render_counterfactual(counterfactual),
            "rules": [RuleEffectOut(**row) for row in extras["rules"]],
            "sweep": None if sweep is None else [_render_sweep_row(row) for row in sweep],
        }
    )


def render_report(signed: SignedReport) -> KeptReportOut:
    """Render a report as it was stored."""
    return KeptReportOut(report_digest=signed.digest, report=signed.content, signature=signed.signature)


def _render_counterfactual(counterfactual: Counterfactual) -> CounterfactualOut:
    if counterfactual.changes is None:
        return CounterfactualOut(changes=None, complete=counterfactual.complete)
    fields = [{name: getattr(each, name) for name in ChangeOut.model_fields} for each in counterfactual.changes]
    return CounterfactualOut(changes=[ChangeOut(**each) for each in fields], complete=counterfactual.complete)


def _render_sweep_row(row: dict[str, Any]) -> SweptOut:
    values = [value for name, value in row.items() if name.startswith("value")]
    return SweptOut(values=values, **{name: row[name] for name in SweptOut.model_fields if name != "values"})
