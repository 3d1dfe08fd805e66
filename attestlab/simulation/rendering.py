"""Renders simulations as wire models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attestlab.core.row_rendering import RowRenderer
from attestlab.policy.rendering import render_counterfactual
from attestlab.simulation.service import IsolatedRows, SimulationRun
from attestlab.simulation.shapes import (
    GroupOut,
    KeptReportOut,
    RuleAloneOut,
    RuleEffectOut,
    RuleSegmentOut,
    SimulationOut,
    SweptOut,
)
from attestlab.simulation.signing import SignedReport

render_report = RowRenderer(KeptReportOut, SignedReport, report_digest="digest", report="content")


def render_simulation(signed: SignedReport, run: SimulationRun) -> SimulationOut:
    """Render a report with its additional results."""
    shown = SimulationOut.model_validate(
        {
            **signed.content,
            "report_digest": signed.digest,
            "signature": signed.signature,
            "groups": [GroupOut.model_validate(row) for row in run.groups],
            "contexts": run.report.contexts,
            "counterfactual": None if run.counterfactual is None else render_counterfactual(run.counterfactual),
            "rules": [RuleEffectOut.model_validate(row) for row in run.rules],
            "sweep": None if run.sweep is None else _render_sweep(run.sweep),
            "sweeps": list(map(_render_sweep, run.sweeps)),
            "alone": None if run.isolated is None else _render_isolated(run.isolated),
            "truncated": [],
        }
    )
    return shown.model_copy(update={"truncated": _find_truncated(shown)})


def _find_truncated(shown: SimulationOut) -> list[str]:
    """Find the lists whose rows count fewer decisions than the simulation, because they have a bounded length."""
    flipped = sum(each.count for each in shown.transitions if each.from_ != each.to)
    counted = {
        "flips": (sum(each.count for each in shown.flips), flipped),
        "why": (sum(each.count for each in shown.why), flipped),
        "groups": (sum(each.count for each in shown.groups), shown.decided),
    }
    if shown.alone is not None:
        listed = {"alone.segments": shown.alone.segments, "alone.targets": shown.alone.targets}
        counted |= {name: (sum(each.hits for each in rows), shown.alone.hits) for name, rows in listed.items()}
    return [name for name, (count, total) in counted.items() if count < total]


def _render_isolated(isolated: IsolatedRows) -> RuleAloneOut:
    return RuleAloneOut.model_validate(
        {
            **isolated.effect,
            "segments": list(map(_render_segment, isolated.segments)),
            "targets": list(map(_render_segment, isolated.targets)),
        }
    )


def _render_segment(row: Mapping[str, object]) -> RuleSegmentOut:
    counted = {name: row[name] for name in RuleSegmentOut.model_fields if name != "segments"}
    segments = {name.removeprefix("@"): value for name, value in row.items() if name not in counted}
    return RuleSegmentOut.model_validate({"segments": segments, **counted})


def _render_sweep(rows: Sequence[Mapping[str, object]]) -> list[SweptOut]:
    counted = [name for name in SweptOut.model_fields if name != "values"]
    return [
        SweptOut.model_validate({"values": _list_thresholds(row), **{name: row[name] for name in counted}})
        for row in rows
    ]


def _list_thresholds(row: Mapping[str, object]) -> list[object]:
    return [value for name, value in row.items() if name.startswith("value")]
