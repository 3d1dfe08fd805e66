"""Renders what-ifs over risk as wire models."""

from __future__ import annotations

from attestlab.simulation.risk.examples import SignalExample
from attestlab.simulation.risk.metrics import Confusion, ErrorCosts
from attestlab.simulation.risk.risk_simulation import CurvePoint, ExplainedSignal
from attestlab.simulation.risk.service import RiskSimulationRun
from attestlab.simulation.risk.shapes import RiskSimulationOut
from attestlab.simulation.risk.signal_history import SignalWindow
from attestlab.simulation.sweeps import Threshold

JsonMembers = dict[str, object]


def render_risk_simulation(run: RiskSimulationRun, window: SignalWindow) -> RiskSimulationOut:
    """Render all results of a simulation."""
    tallies = run.tallies
    return RiskSimulationOut.model_validate(
        {
            "window": {"from": window.start, "to": window.end},
            "signals": tallies.signals,
            "labels": {label: count._asdict() for label, count in tallies.labels.items()},
            **_render_metrics(tallies.candidate, run.costs),
            "costs": run.costs._asdict(),
            "live": {"escalation_threshold": run.live_threshold, **_render_metrics(tallies.live, run.costs)},
            "promotion": {**run.gate._asdict(), "checks": [check._asdict() for check in run.gate.checks]},
            "rules": [each._asdict() for each in tallies.by_rule],
            "threshold": None if run.threshold is None else _render_threshold(run.threshold),
            "curve": [_render_point(point) for point in run.curve],
            "flips": [
                {
                    "from": _decision(flip.live),
                    "to": _decision(flip.candidate),
                    "label": flip.label,
                    "count": flip.signals,
                }
                for flip in tallies.flips
            ],
            "examples": [_render_example(example) for example in run.examples],
            "explanation": None if run.explained is None else _render_explained(run.explained),
        }
    )


def _decision(is_escalated: bool) -> str:
    return "escalate" if is_escalated else "pass"


def _render_metrics(confusion: Confusion, costs: ErrorCosts) -> JsonMembers:
    shares = {"precision": confusion.precision, "recall": confusion.recall, "fpr": confusion.fpr}
    return {
        "confusion": confusion._asdict(),
        **{name: share._asdict() for name, share in shares.items()},
        "cost": costs.total(confusion),
    }


def _render_threshold(threshold: Threshold) -> JsonMembers:
    leaf = threshold.leaf
    named = {"rule_id": threshold.rule_id, "attribute": leaf.attribute.path, "op": leaf.op.value}
    return {**named, "value": threshold.value}


def _render_point(point: CurvePoint) -> JsonMembers:
    shares = {name: getattr(point.confusion, name).value for name in ("precision", "recall", "fpr")}
    return {
        **point.confusion._asdict(),
        **shares,
        "value": point.value,
        "cost": point.cost,
        "is_current": point.is_current,
    }


def _render_example(example: SignalExample) -> JsonMembers:
    return {
        **example._asdict(),
        "live": _decision(example.live),
        "candidate": _decision(example.candidate),
    }


def _render_explained(explained: ExplainedSignal) -> JsonMembers:
    return {
        "signal_id": explained.signal_id,
        "decision": _decision(explained.rule_id is not None),
        "rule_id": explained.rule_id,
        "values": explained.values,
        "rules": [
            {"rule_id": each.rule.id, "matched": each.matched, "when": each.when.json()} for each in explained.rules
        ],
    }
