"""What another escalation rule would have done: the simulation of the facade, on the signals of closed cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.risk import RiskSimulationHandle
from attestlab.simulation.risk.shapes import CurvePointOut
from attestlab_dashboards.risk.queries.cells import read_text
from attestlab_dashboards.risk.queries.context import load_context
from attestlab_dashboards.risk.state import RiskState

READS: Final = ("rule_score", "rule_source", "rule_burst")
RULE_ID: Final = "what_if"
_SOURCES: Final = "SELECT source FROM signals GROUP BY source ORDER BY count(*) DESC, source LIMIT 50"

Rule = dict[str, object]


@dataclass(frozen=True)
class WhatIf:
    """The simulated rule and its result; `threshold` is the score of the live rule, `sources` what can be chosen."""

    result: RiskSimulationHandle
    threshold: float
    score: float
    sources: Sequence[str]


def load_what_if(lab: Lab, state: RiskState) -> WhatIf:
    """Simulate the rule of the state over all recorded signals."""
    threshold = load_context(lab).threshold
    score = threshold if state.rule_score is None else state.rule_score
    result = lab.signals.simulate(build_rules(state, score, threshold), threshold=(RULE_ID, "signal.score"))
    return WhatIf(result, threshold, score, [read_text(row, "source") for row in lab.sql(_SOURCES)])


def describe_work(lab: Lab, _state: RiskState) -> str:
    """Describe what a simulation has to do."""
    (row,) = lab.sql("SELECT count(*) AS count FROM signals")
    return f"{int(str(row['count'])):,} recorded signals are decided again."


def export_curve(lab: Lab, state: RiskState) -> Records[CurvePointOut]:
    """Export the confusion matrix for each threshold of the rule."""
    return load_what_if(lab, state).result.curve


def build_rules(state: RiskState, score: float, threshold: float) -> list[Rule]:
    """Build the rules: the changed one, and for the other sources the live one."""
    conditions = [_compare("signal.score", "gte", score)]
    if state.rule_burst:
        conditions.append(_compare("entity.signals_24h", "gte", state.rule_burst))
    if not state.rule_source:
        return [{"id": RULE_ID, "when": {"all": conditions}}]
    conditions.append(_compare("signal.source", "eq", state.rule_source))
    others = [_compare("signal.source", "ne", state.rule_source), _compare("signal.score", "gte", threshold)]
    return [{"id": RULE_ID, "when": {"all": conditions}}, {"id": "others", "when": {"all": others}}]


def copy_what_if_python(state: RiskState) -> str:
    """Return Python that simulates the same rule."""
    lines = ["threshold = lab.signals.settings().escalation_threshold"]
    score = "threshold" if state.rule_score is None else f"{state.rule_score:g}"
    rules = json.dumps(build_rules(state, -1.0, -2.0), indent=4).replace("-1.0", score).replace("-2.0", "threshold")
    return "\n".join(
        [*lines, f"rules = {rules}", f'lab.signals.simulate(rules, threshold=("{RULE_ID}", "signal.score"))']
    )


def _compare(attribute: str, op: str, value: float | str) -> Rule:
    return {"attr": attribute, "op": op, "value": value}
