"""The pages' verbs as Python, to continue in a notebook: each text runs after `lab = attestlab.connect(...)`."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from attestlab_dashboards.policy.documents import list_thresholds, parse
from attestlab_dashboards.policy.queries import POINTS, write_template
from attestlab_dashboards.policy.state import NEW_POLICY, PolicyState

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
_FIND_NEWEST: Final = "(newest,) = lab.sql('select max(created_at) as at from decisions')"


def _name_chosen(state: PolicyState) -> str:
    """Write the chosen policy as an expression; without a choice, the one that the page begins with."""
    if state.policy:
        return repr(state.policy)
    category = f" and each.category == {state.category!r}" if state.category else ""
    listed = f'each for each in lab.policies.list() if each.status != "ARCHIVED"{category}'
    return f'min(({listed}), key=lambda each: each.status != "ACTIVE", default=None)'


def _find_text(state: PolicyState) -> str:
    """Return the text that only this page has: a draft, or what a new policy begins with."""
    return state.draft or (write_template(state.category) if state.policy == NEW_POLICY else "")


def _name_policy(state: PolicyState) -> str:
    """Write the policy as an expression: a draft as its text, an older version as its document, else as stored."""
    if text := _find_text(state):
        return f'{{"toml": {text!r}}}'
    if state.version:
        versions = f"lab.policies.get({_name_chosen(state)}).versions()"
        return f"next(each for each in {versions} if each.version == {state.version}).read_document()"
    return _name_chosen(state)


def _write_options(state: PolicyState) -> str:
    """Write the replaced policy and the window, which `_find_window` prepares."""
    options = []
    if (state.draft or state.version) and state.policy != NEW_POLICY:
        options.append(f"replaces={_name_chosen(state)}")
    if state.window != "all":
        options.append("since=since")
    elif state.since:
        options.append(f"since={state.since!r}")
    if state.until:
        options.append(f"until={(date.fromisoformat(state.until) + timedelta(days=1)).isoformat()!r}")
    return "".join(f", {each}" for each in options)


def _find_window(state: PolicyState) -> list[str]:
    """Write how to find the beginning of a window of so many days, which ends at the newest decision."""
    if state.window == "all":
        return []
    days = int(state.window.removesuffix("d"))
    return ["from datetime import timedelta", _FIND_NEWEST, f"since = newest['at'] - timedelta(days={days})"]


def copy_simulation(state: PolicyState) -> str:
    """Write the simulation."""
    return "\n".join([*_simulate(state, list(state.by)), "report.flips.df()"])


def copy_issuers(state: PolicyState) -> str:
    """Write the simulation by issuer: the target of a decision about one."""
    names = 'issuers = lab.sql("select id as target_id, name as issuer from issuers").df()'
    return "\n".join([*_simulate(state, ["target_id"]), names, 'report.flips.df().merge(issuers, on="target_id")'])


def _simulate(state: PolicyState, by: list[str]) -> list[str]:
    simulation = f"report = lab.policies.simulate({_name_policy(state)}{_write_options(state)}, by={by!r})"
    return [*_find_window(state), simulation, "assert report.self_check.unexpected_flips == 0"]


def copy_sweep(state: PolicyState) -> str:
    """Write the sweep of the chosen threshold; without one, of the first that the document has."""
    return _write_sweep(state, (state.sweep,))


def copy_map(state: PolicyState) -> str:
    """Write the sweep of two thresholds at once: the chosen ones, else the first that the document has."""
    return _write_sweep(state, (state.sweep, state.second))


def _write_sweep(state: PolicyState, chosen: tuple[str, ...]) -> str:
    lines = [*_find_window(state), f"policy = {_name_policy(state)}", *_write_thresholds(state, chosen)]
    sweep = f"lab.policies.sweep(policy, *thresholds[:{len(chosen)}], points={POINTS}{_write_options(state)})"
    return "\n".join([*lines, f"report = {sweep}", "report.sweep.df()"])


def _write_thresholds(state: PolicyState, chosen: tuple[str, ...]) -> list[str]:
    """Write the chosen thresholds, then those of the document that the page chooses for the others."""
    text = _find_text(state)
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


def copy_analysis(state: PolicyState) -> str:
    """Write the analysis."""
    return f"analysis = lab.policies.analyze({_name_policy(state)})\nanalysis.findings.df()"


def copy_decision(state: PolicyState) -> str:
    """Write the decision on the values that were changed."""
    return (
        f"decided = lab.policies.decide({_name_policy(state)}, {dict(state.context)!r})\n"
        "decided.decision, decided.matched_rules, decided.missing"
    )
