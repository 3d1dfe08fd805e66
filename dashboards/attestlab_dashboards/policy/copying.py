"""The pages' verbs as Python, to continue in a notebook: each text runs after `lab = attestlab.connect(...)`."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.policy.documents import list_thresholds, parse
from attestlab_dashboards.policy.state import NEW_POLICY, PolicyState

_FIND_LEAVES: Final = """def leaves(when):
    parts = when.get("all") or when.get("any") or [when["not"]] if "attr" not in when else []
    return [leaf for part in parts for leaf in leaves(part)] or [when]
"""
_FIND_THRESHOLD: Final = """threshold = next(
    (rule["id"], leaf["attr"], leaf["op"])
    for rule in lab.policies.get(policy).document["rules"]
    for leaf in leaves(rule["when"])
    if leaf["op"] in ("lt", "lte", "gt", "gte")
)"""


def _name_policy(state: PolicyState) -> str:
    """Write the policy as an expression: a draft as its text, a stored one by its id."""
    if state.draft:
        return f'{{"toml": {state.draft!r}}}'
    if state.policy and state.policy != NEW_POLICY:
        return repr(state.policy)
    return 'next(each for each in lab.policies.list() if each.status == "ACTIVE").id'


def _write_options(state: PolicyState) -> str:
    options = []
    if state.draft and state.policy and state.policy != NEW_POLICY:
        options.append(f"replaces={state.policy!r}")
    if state.since:
        options.append(f"since={state.since!r}")
    return "".join(f", {each}" for each in options)


def copy_simulation(state: PolicyState) -> str:
    """Write the simulation."""
    by = list(state.by)
    return (
        f"report = lab.policies.simulate({_name_policy(state)}{_write_options(state)}, by={by!r})\n"
        "assert report.self_check.unexpected_flips == 0\nreport.flips.df()"
    )


def copy_sweep(state: PolicyState) -> str:
    """Write the sweep of the chosen threshold; without one, of the first that the document has."""
    lines = [f"policy = {_name_policy(state)}"]
    chosen = state.sweep or next((each.key for each in list_thresholds(parse(state.draft))), "")
    if chosen:
        lines.append(f"threshold = {tuple(chosen.split('|'))!r}")
    else:
        lines += [_FIND_LEAVES, _FIND_THRESHOLD]
    lines += [f"report = lab.policies.sweep(policy, threshold{_write_options(state)})", "report.sweep.df()"]
    return "\n".join(lines)


def copy_analysis(state: PolicyState) -> str:
    """Write the analysis."""
    return f"analysis = lab.policies.analyze({_name_policy(state)})\nanalysis.findings.df()"


def copy_decision(state: PolicyState) -> str:
    """Write the decision on the values that were changed."""
    return (
        f"decided = lab.policies.decide({_name_policy(state)}, {dict(state.context)!r})\n"
        "decided.decision, decided.matched_rules, decided.missing"
    )
