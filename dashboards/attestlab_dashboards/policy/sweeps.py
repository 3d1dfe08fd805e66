"""What the curve of one threshold and the heat map of two share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.core.errors import NotFound
from attestlab.simulation.shapes import SweptOut
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, percent
from attestlab_dashboards.policy.copying import find_text, write_options, write_policy, write_window
from attestlab_dashboards.policy.documents import WORDS, RuleThreshold, describe_number, list_thresholds, parse
from attestlab_dashboards.policy.exports import require_report
from attestlab_dashboards.policy.queries import POINTS, Sweep, load_sweep
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import draw_if_missing, draw_select

LEFT, RIGHT, TOP, BOTTOM = 44, 14, 22, 30  # margins of the plot


def draw_if_no_sweep(data: Sweep, wanted: int) -> Markup | None:
    """Draw why there is no sweep of the wanted number of thresholds; None if there is one."""
    missing = draw_if_missing(data.replay)
    if missing is not None:
        return missing
    if data.values:
        return None
    words = "no threshold" if not data.chosen else "only one threshold"
    why = "A sweep varies the number of a comparison with <, ≤, > or ≥ of an enabled rule."
    return widgets.empty(f"The draft has {words}", f"{why} It needs {wanted}.")


def draw_threshold_choice(label: str, event: str, choices: Sequence[RuleThreshold], chosen: RuleThreshold) -> Markup:
    """Draw the list of thresholds to choose from."""
    words = {
        each.key: f"{each.rule}: {each.attribute} {WORDS[each.op]} {describe_number(each.value)}" for each in choices
    }
    return draw_select(label, event, words.items(), chosen.key)


def find_current(rows: Sequence[SweptOut]) -> SweptOut:
    """Find the row of the values that the draft has, else the last one."""
    return next((row for row in rows if row.is_current), rows[-1])


def describe_row(row: SweptOut) -> str:
    """Describe what is denied and what flips with the values of a row."""
    total = row.allowed + row.denied
    at = " and ".join(map(describe_number, row.values))
    return (
        f"At {at}: {count(row.denied)} denied ({percent(row.denied, total)}), "
        f"{count(row.opened)} newly allowed, {count(row.closed)} newly denied."
    )


def export_values(lab: Lab, state: PolicyState, count: int) -> Records[SweptOut]:
    """Export the results for every value of one threshold, or of two.

    Raises:
        NotFound: the draft has fewer thresholds.
    """
    require_report(lab, state)
    values = load_sweep(lab, state, count).values
    if values is None:
        raise NotFound("threshold" if count == 1 else "second threshold", "of the draft")
    return values


_FIND_LEAVES: Final = """def leaves(when):
    parts = when.get("all") or when.get("any") or [when["not"]] if "attr" not in when else []
    return [leaf for part in parts for leaf in leaves(part)] or [when]
"""
_FIND_THRESHOLDS: Final = """thresholds = [
    (rule["id"], leaf["attr"], leaf["op"])
    for rule in document["rules"]
    for leaf in leaves(rule["when"])
    if leaf["op"] in ("lt", "lte", "gt", "gte")
]"""


def write_sweep(state: PolicyState, chosen: tuple[str, ...]) -> str:
    """Write the sweep of the chosen thresholds as Python."""
    lines = [*write_window(state), f"policy = {write_policy(state)}", *_write_thresholds(state, chosen)]
    sweep = f"lab.policies.sweep(policy, *thresholds[:{len(chosen)}], points={POINTS}{write_options(state)})"
    return "\n".join([*lines, f"report = {sweep}", "report.sweep.df()"])


def _write_thresholds(state: PolicyState, chosen: tuple[str, ...]) -> list[str]:
    """Write the chosen thresholds, then those of the document that the page chooses for the others."""
    text = find_text(state)
    known = [each.key for each in list_thresholds(parse(text))] if text else []
    keys = [each for each in chosen if each]
    keys += [each for each in known if each not in keys][: len(chosen) - len(keys)]
    listed = f"{[tuple(each.split('|')) for each in keys]!r}"
    if text or len(keys) == len(chosen):
        return [f"thresholds = {listed}"]
    document = "policy" if state.version else "lab.policies.get(policy).document"
    lines = [f"document = {document}", _FIND_LEAVES, _FIND_THRESHOLDS]
    first = f"thresholds = {listed} + [each for each in thresholds if each not in {listed}]"
    return [*lines, first] if keys else lines
