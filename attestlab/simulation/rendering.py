"""Simulations as they go out."""

from __future__ import annotations

from typing import Any

from attestlab.policy.evaluation.counterfactual import Counterfactual
from attestlab.policy.shapes import ChangeOut, CounterfactualOut
from attestlab.simulation.shapes import GroupOut, KeptReportOut, RuleEffectOut, SimulationOut, SweptOut
from attestlab.simulation.signing import SignedReport


def simulated(kept: SignedReport, beside: dict[str, Any]) -> SimulationOut:
    """A report with what is told beside it."""
    swept, turned = beside["sweep"], beside["counterfactual"]
    return SimulationOut.model_validate(
        {
            **kept.content,
            "report_digest": kept.digest,
            "signature": kept.signature,
            "groups": [GroupOut(**row) for row in beside["groups"]],
            "contexts": beside["contexts"],
            "counterfactual": None if turned is None else _turned(turned),
            "rules": [RuleEffectOut(**row) for row in beside["rules"]],
            "sweep": None if swept is None else [_swept(row) for row in swept],
        }
    )


def report(kept: SignedReport) -> KeptReportOut:
    """A report as it was kept."""
    return KeptReportOut(report_digest=kept.digest, report=kept.content, signature=kept.signature)


def _turned(found: Counterfactual) -> CounterfactualOut:
    if found.changes is None:
        return CounterfactualOut(changes=None, complete=found.complete)
    told = [{name: getattr(each, name) for name in ChangeOut.model_fields} for each in found.changes]
    return CounterfactualOut(changes=[ChangeOut(**each) for each in told], complete=found.complete)


def _swept(row: dict[str, Any]) -> SweptOut:
    values = [value for name, value in row.items() if name.startswith("value")]
    return SweptOut(values=values, **{name: row[name] for name in SweptOut.model_fields if name != "values"})
