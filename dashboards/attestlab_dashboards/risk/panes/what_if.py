"""What if the rule were another: its confusion matrix next to the live rule's, and the errors of each threshold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.risk_reports import RiskSimulationHandle
from attestlab.simulation.risk.shapes import CurvePointOut
from attestlab_dashboards import axes
from attestlab_dashboards.cells import read_text
from attestlab_dashboards.formats import count, percent, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.risk.context import load_context
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.words import name_of
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import button, option_list, pill

READS: Final = ("rule_score", "rule_source", "rule_burst")
RULE_ID: Final = "what_if"
_SOURCES: Final = "SELECT source FROM signals GROUP BY source ORDER BY count(*) DESC, source LIMIT 50"
WhatIfRule = dict[str, object]


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


def build_rules(state: RiskState, score: float, threshold: float) -> list[WhatIfRule]:
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


def _compare(attribute: str, op: str, value: float | str) -> WhatIfRule:
    return {"attr": attribute, "op": op, "value": value}


_CELLS: Final = (
    ("true_positive", "caught", "good"),
    ("false_negative", "missed", "bad"),
    ("false_positive", "false alarms", "warn"),
    ("true_negative", "left in peace", "calm"),
)


def draw_what_if(found: WhatIf, state: RiskState) -> Markup:
    """Draw the rule's form, the matrix, the verdict, and the curve."""
    return html(
        "{form}{matrix}{verdict}{curve}",
        form=_draw_form(found, state),
        matrix=_draw_matrix(found),
        verdict=_draw_verdict(found),
        curve=_draw_curve(found),
    )


def read_what_if(found: WhatIf, _state: RiskState) -> str:
    """Write the second line of the card."""
    labels = found.result.labels
    cases = labels.fraud.cases + labels.legitimate.cases
    signals = plural(_count_labelled(found), "labelled signal")
    return f"Counted on {signals} of {plural(cases, 'closed case')}, all time"


def _count_labelled(found: WhatIf) -> int:
    return found.result.labels.fraud.signals + found.result.labels.legitimate.signals


def _draw_form(found: WhatIf, state: RiskState) -> Markup:
    sources = [("", "of every source"), *((source, f"of {name_of(source)}") for source in found.sources)]
    is_changed = state.rule_score is not None or bool(state.rule_source or state.rule_burst)
    return html(
        '<div class="rk-rule"><label>Escalate signals <select data-ev="rule_source" data-key="rule_source">'
        "{sources}</select></label>"
        '<label>from a score of <input type="number" min="0" max="100" step="1" value="{score}" data-ev="rule_score" '
        'data-key="rule_score"></label>'
        '<label>if the entity has at least <input type="number" min="0" max="100000" value="{burst}" '
        'data-ev="rule_burst" data-key="rule_burst"> signals in 24 h</label>{reset}</div>'
        '<p class="small muted">{others}The live rule: every source, from {threshold}.</p>',
        sources=option_list(sources, state.rule_source),
        score=f"{found.score:g}",
        burst=state.rule_burst,
        reset=button("Reset", ev="rule_reset") if is_changed else NOTHING,
        others="Other sources keep the live rule. " if state.rule_source else "",
        threshold=f"{found.threshold:g}",
    )


def _draw_matrix(found: WhatIf) -> Markup:
    drawn = [_draw_cell(found, *cell) for cell in _CELLS]
    return html(
        '<table class="rk-matrix"><caption class="al-hidden">Confusion matrix</caption><thead><tr><td></td>'
        '<th scope="col">Escalated</th><th scope="col">Let through</th></tr></thead><tbody>'
        '<tr><th scope="row">Fraud</th>{caught}{missed}</tr><tr><th scope="row">Honest</th>{alarms}{peace}</tr></tbody>'
        '</table><p class="small"><b>{recall}</b> of fraud caught, <b>{alarms_share}</b> of alarms false.</p>',
        caught=drawn[0],
        missed=drawn[1],
        alarms=drawn[2],
        peace=drawn[3],
        recall=_share(found.result.recall.value),
        alarms_share=_share(None if found.result.precision.value is None else 1 - found.result.precision.value),
    )


def _share(value: float | None) -> str:
    return "none" if value is None else percent(value, 1)


def _draw_cell(found: WhatIf, name: str, words: str, tone: str) -> Markup:
    number, live = (int(getattr(matrix, name)) for matrix in (found.result.confusion, found.result.live.confusion))
    change = f"{number - live:+,} vs live" if number != live else "as live"
    return html(
        '<td class="rk-cell {tone}"><b>{number}</b><span>{words}</span>'
        '<span class="rk-cell-change">{change}</span></td>',
        tone=tone,
        number=count(number),
        words=words,
        change=change,
    )


def _draw_verdict(found: WhatIf) -> Markup:
    if found.result.confusion == found.result.live.confusion:
        return html('<p class="small muted">It decides every labelled signal as the live rule does.</p>')
    promotion = found.result.promotion
    mark = (
        pill("better than live", "good", "check") if promotion.is_better else pill("not proved better", "warn", "warn")
    )
    new = sum(flip.count for flip in found.result.flips if flip.to == "escalate" and flip.label == "none")
    more = f" It would also escalate {plural(new, 'signal')} that no case has judged." if new else ""
    return html('<p class="small">{mark} {summary}{more}</p>', mark=mark, summary=promotion.summary.strip(), more=more)


def _draw_curve(found: WhatIf) -> Markup:
    """Draw missed fraud and false alarms for each threshold of the rule."""
    points = found.result.curve
    if len(points) < 2:
        return NOTHING
    ticks = axes.choose_ticks(max(max(point.false_positive, point.false_negative) for point in points), 3)
    lines = join(
        html(
            '<path class="rk-line s-{hue}" d="{line}"/>',
            hue=hue,
            line=axes.write_path([(10 * point.value, 100 * getattr(point, name) / ticks[-1]) for point in points]),
        )
        for name, hue in (("false_positive", "amber"), ("false_negative", "red"))
    )
    marks = join(
        html('<path class="{css}" d="M{x} 0V100"/>', css=css, x=f"{10 * value:.1f}")
        for css, value in (("rk-live", found.threshold), ("rk-now", found.score))
    )
    plot = html(
        '<svg class="al-plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="{summary}">'
        "{grid}{lines}{marks}{tips}</svg>",
        summary=f"False alarms and missed fraud by threshold; the rule is at {found.score:g}, the live rule at "
        f"{found.threshold:g}",
        grid=axes.draw_grid(ticks),
        lines=lines,
        marks=marks,
        tips=axes.draw_tips(_list_tips(points)),
    )
    words = join(html('<span style="left:{at}%">{at}</span>', at=at) for at in (0, 20, 40, 60, 80, 100))
    return html(
        '<h3 class="al-lane-title">Signals by the threshold of this rule<span class="rk-keys"><span class="rk-key">'
        '<i class="rk-dot f-amber"></i>false alarms</span><span class="rk-key"><i class="rk-dot f-red"></i>missed fraud'
        '</span></span></h3>{lane}<div class="al-x" aria-hidden="true">{words}</div>'
        '<p class="small muted">Solid line: this rule. Dashed: the live threshold.</p>',
        lane=axes.draw_lane(axes.draw_scale(ticks), plot, "s"),
        words=words,
    )


def _list_tips(points: Sequence[CurvePointOut]) -> Iterator[tuple[float, float, str]]:
    """List the numbers of each threshold, around its place."""
    middles = [(10 * (a.value + b.value) / 2) for a, b in pairwise(points)]
    for point, left, right in zip(points, [0.0, *middles], [*middles, float(axes.WIDTH)], strict=True):
        alarms, missed = plural(point.false_positive, "false alarm"), count(point.false_negative)
        yield left, right, f"From a score of {point.value:g}: {alarms}, {missed} missed"


PANE: Final = Pane(
    key="what_if",
    question="What if we changed the rule?",
    reading=read_what_if,
    span=6,
    load=load_what_if,
    draw=draw_what_if,
    reads=READS,
    copy_python=copy_what_if_python,
    is_long=True,
    expects=describe_work,
    export=export_curve,
    is_common=True,
)
