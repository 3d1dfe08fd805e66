"""Simulations as they go out."""

from __future__ import annotations

from typing import Any

from attestlab.simulation.shapes import KeptReportOut, RuleEffectOut, SimulationOut, SweptOut
from attestlab.simulation.signing import Kept


def simulated(kept: Kept, beside: dict[str, Any]) -> SimulationOut:
    """A report with what is told beside it."""
    swept = beside["sweep"]
    return SimulationOut.model_validate(
        {
            **kept.content,
            "report_digest": kept.digest,
            "signature": kept.signature,
            "rules": [RuleEffectOut(**row) for row in beside["rules"]],
            "sweep": None if swept is None else [_swept(row) for row in swept],
        }
    )


def report(kept: Kept) -> KeptReportOut:
    """A report as it was kept."""
    return KeptReportOut(report_digest=kept.digest, report=kept.content, signature=kept.signature)


def _swept(row: dict[str, Any]) -> SweptOut:
    values = [value for name, value in row.items() if name.startswith("value")]
    return SweptOut(values=values, **{name: row[name] for name in SweptOut.model_fields if name != "values"})
