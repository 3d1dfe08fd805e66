"""The pages' verbs as Python, to continue in a notebook: each text runs after `lab = attestlab.connect(...)`."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from attestlab_dashboards.policy.notation import NEW_POLICY
from attestlab_dashboards.policy.queries import write_template
from attestlab_dashboards.policy.state import YESTERDAY, PolicyState

_FIND_MIDNIGHT: Final = "until = newest['at'].replace(hour=0, minute=0, second=0, microsecond=0)"
_FIND_NEWEST: Final = "(newest,) = lab.sql('select max(created_at) as at from decisions')"


def _name_chosen(state: PolicyState) -> str:
    """Write the chosen policy as an expression; without a choice, the one that the page begins with."""
    if state.policy:
        return repr(state.policy)
    category = f" and each.category == {state.category!r}" if state.category else ""
    listed = f'each for each in lab.policies.list() if each.status != "ARCHIVED"{category}'
    return f'min(({listed}), key=lambda each: each.status != "ACTIVE", default=None)'


def find_text(state: PolicyState) -> str:
    """Return the text that only this page has: a draft, or what a new policy begins with."""
    return state.draft or (write_template(state.category) if state.policy == NEW_POLICY else "")


def write_policy(state: PolicyState) -> str:
    """Write the policy as an expression: a draft as its text, an older version as its document, else as stored."""
    if text := find_text(state):
        return f'{{"toml": {text!r}}}'
    if state.version:
        versions = f"lab.policies.get({_name_chosen(state)}).versions()"
        return f"next(each for each in {versions} if each.version == {state.version}).read_document()"
    return _name_chosen(state)


def write_options(state: PolicyState) -> str:
    """Write the replaced policy and the window, which `_find_window` prepares."""
    options = []
    if (state.draft or state.version) and state.policy != NEW_POLICY:
        options.append(f"replaces={_name_chosen(state)}")
    if state.window == YESTERDAY:
        options.append("since=since, until=until")
    elif state.window != "all":
        options.append("since=since")
    elif state.since:
        options.append(f"since={state.since!r}")
    if state.until and state.window != YESTERDAY:
        options.append(f"until={(date.fromisoformat(state.until) + timedelta(days=1)).isoformat()!r}")
    return "".join(f", {each}" for each in options)


def write_window(state: PolicyState) -> list[str]:
    """Write how to find the beginning of a window of a number of days, which ends at the newest decision."""
    if state.window == "all":
        return []
    if state.window == YESTERDAY:
        return ["from datetime import timedelta", _FIND_NEWEST, _FIND_MIDNIGHT, "since = until - timedelta(days=1)"]
    days = int(state.window.removesuffix("d"))
    return ["from datetime import timedelta", _FIND_NEWEST, f"since = newest['at'] - timedelta(days={days})"]


def copy_simulation(state: PolicyState) -> str:
    """Write the simulation."""
    return "\n".join([*write_simulation(state, list(state.by)), "report.flips.df()"])


def write_simulation(state: PolicyState, by: list[str]) -> list[str]:
    """Write the simulation, in lines."""
    simulation = f"report = lab.policies.simulate({write_policy(state)}{write_options(state)}, by={by!r})"
    return [*write_window(state), simulation, "assert report.self_check.unexpected_flips == 0"]
