"""The pages' verbs as Python, to continue in a notebook: each text runs after `lab = attestlab.connect(...)`."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from attestlab_dashboards.policy.documents import list_thresholds, parse
from attestlab_dashboards.policy.queries import POINTS
from attestlab_dashboards.policy.state import NEW_POLICY, PolicyState

_FIND_LEAVES: Final = """def leaves(when):
    parts = when.get("all") or when.get("any") or [when["not"]] if "attr" not in when else []
    return [leaf for part in parts for leaf in leaves(part)] or [when]
"""
_FIND_THRESHOLDS: Final = """thresholds = [
    (rule["id"], leaf["attr"], leaf["op"])
    for rule in lab.policies.get(policy).document["rules"]
    for leaf in leaves(rule["when"])
    if leaf["op"] in ("lt", "lte", "gt", "gte")
]"""
_FIND_NEWEST: Final = "(newest,) = lab.sql('select max(created_at) as at from decisions')"


def _name_policy(state: PolicyState) -> str:
    """Write the policy as an expression: a draft as its text, a stored one by its id."""
    if state.draft:
        return f'{{"toml": {state.draft!r}}}'
    if state.policy and state.policy != NEW_POLICY:
        return repr(state.policy)
    return 'next(each for each in lab.policies.list() if each.status == "ACTIVE").id'


def _write_options(state: PolicyState) -> str:
    """Write the replaced policy and the window, which `_find_window` prepares."""
    options = []
    if state.draft and state.policy and state.policy != NEW_POLICY:
        options.append(f"replaces={state.policy!r}")
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
    by = list(state.by)
    simulation = f"report = lab.policies.simulate({_name_policy(state)}{_write_options(state)}, by={by!r})"
    check = "assert report.self_check.unexpected_flips == 0"
    return "\n".join([*_find_window(state), simulation, check, "report.flips.df()"])


def copy_sweep(state: PolicyState) -> str:
    """Write the sweep of the chosen threshold; without one, of the first that the document has."""
    return _write_sweep(state, (state.sweep,))


def copy_map(state: PolicyState) -> str:
    """Write the sweep of two thresholds at once: the chosen ones, else the first that the document has."""
    return _write_sweep(state, (state.sweep, state.second))


def _write_sweep(state: PolicyState, chosen: tuple[str, ...]) -> str:
    known = [each.key for each in list_thresholds(parse(state.draft)) if each.key not in chosen]
    keys = [each or (known.pop(0) if known else "") for each in chosen]
    lines = [*_find_window(state), f"policy = {_name_policy(state)}"]
    if state.draft or all(keys):
        lines.append(f"thresholds = {[tuple(each.split('|')) for each in keys if each]!r}")
    else:
        lines += [_FIND_LEAVES, _FIND_THRESHOLDS]
    lines += [f"report = lab.policies.sweep(policy, *thresholds[:{len(keys)}], points={POINTS}{_write_options(state)})"]
    return "\n".join([*lines, "report.sweep.df()"])


def copy_analysis(state: PolicyState) -> str:
    """Write the analysis."""
    return f"analysis = lab.policies.analyze({_name_policy(state)})\nanalysis.findings.df()"


def copy_decision(state: PolicyState) -> str:
    """Write the decision on the values that were changed."""
    return (
        f"decided = lab.policies.decide({_name_policy(state)}, {dict(state.context)!r})\n"
        "decided.decision, decided.matched_rules, decided.missing"
    )
