"""What the panes of the policy simulator download, as tables: the rules, a decision, and the parts of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.policies import SimulationHandle
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.simulation.shapes import SweptOut
from attestlab_dashboards.policy.activation import list_steps, load_readiness
from attestlab_dashboards.policy.deciding import load_decision
from attestlab_dashboards.policy.documents import (
    DraftProblem,
    describe_condition,
    describe_leaf,
    list_rules,
    write_value,
)
from attestlab_dashboards.policy.history import load_history
from attestlab_dashboards.policy.queries import load_replay, load_sweep, load_text
from attestlab_dashboards.policy.state import PolicyState


class RuleRow(BaseModel):
    """A rule of the text, with its condition in words."""

    rule: str
    effect: str
    mode: str
    priority: int | None
    condition: str
    reason: str | None


class TestedValue(BaseModel):
    """What one comparison of a rule answers for the decision's values: `true`, `false` or `unknown`.

    `value` is what the comparison saw; None if the attribute is missing.
    """

    rule: str
    effect: str
    mode: str
    matched: bool
    decides: bool
    comparison: str
    truth: str
    value: str | None


class ConditionRow(BaseModel):
    """What an activation requires, and whether it holds."""

    condition: str
    holds: bool
    reason: str


def export_rules(lab: Lab, state: PolicyState) -> Records[RuleRow]:
    """Export the rules of the text."""
    _require_report(lab, state)
    rows = (
        RuleRow(
            rule=str(rule["id"]),
            effect=str(rule["effect"]),
            mode=str(rule.get("mode", "ENFORCE")),
            priority=rule.get("priority"),
            condition=describe_condition(rule.get("when")),
            reason=rule.get("reason"),
        )
        for rule in list_rules(load_text(lab, state).document)
    )
    return Records(rows, RuleRow)


def export_decision(lab: Lab, state: PolicyState) -> Records[TestedValue]:
    """Export what each comparison of the text answers for the values of the form.

    Raises:
        ValidationFailed: the text has an error.
    """
    _require_link(state)
    decided = load_decision(lab, state)
    if decided.draft is None:
        raise _refuse(decided.problems)
    rows = (
        TestedValue(
            rule=rule.id,
            effect=rule.effect,
            mode=rule.mode,
            matched=rule.matched,
            decides=rule.id == decided.draft.matched_rule,
            comparison=describe_leaf(leaf),
            truth=str(leaf["truth"]),
            value=write_value(leaf["actual"]) if "actual" in leaf else None,
        )
        for rule in decided.draft.rules
        for leaf in _list_compared(rule.when)
    )
    return Records(rows, TestedValue)


def _list_compared(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if node["kind"] == "leaf":
        yield node
    else:
        for part in node["parts"]:
            yield from _list_compared(part)


def export_conditions(lab: Lab, state: PolicyState) -> Records[ConditionRow]:
    """Export what an activation of the text requires."""
    _require_report(lab, state)
    steps = list_steps(load_readiness(lab, state))
    return Records(
        (ConditionRow(condition=each.title, holds=each.holds, reason=each.why) for each in steps), ConditionRow
    )


def export_part(name: str) -> Callable[[Lab, PolicyState], Records[Any]]:
    """Return what exports a part of the simulation, such as `flips`."""

    def export(lab: Lab, state: PolicyState) -> Records[Any]:
        part: Records[Any] = getattr(_require_report(lab, state), name)
        return part

    return export


class IssuerFlips(BaseModel):
    """How many decisions about an issuer flip each way."""

    issuer_id: str
    issuer: str
    newly_allowed: int
    newly_denied: int


def export_issuers(lab: Lab, state: PolicyState) -> Records[IssuerFlips]:
    """Export the flips by issuer.

    Raises:
        NotFound: the flips cannot be counted by issuer.
    """
    _require_report(lab, state)
    history = load_history(lab, state)
    if history is None:
        raise NotFound("issuers", "of these decisions")
    rows = (
        IssuerFlips(issuer_id=issuer_id, issuer=name, newly_allowed=flips.opened, newly_denied=flips.closed)
        for issuer_id, name, flips in history.by_issuer
    )
    return Records(rows, IssuerFlips)


def export_sweep(lab: Lab, state: PolicyState) -> Records[SweptOut]:
    """Export the results for every value of the threshold.

    Raises:
        NotFound: the draft has no threshold.
    """
    return _export_sweep(lab, state, 1)


def export_map(lab: Lab, state: PolicyState) -> Records[SweptOut]:
    """Export the results for every pair of values of two thresholds.

    Raises:
        NotFound: the draft has fewer thresholds.
    """
    return _export_sweep(lab, state, 2)


def _export_sweep(lab: Lab, state: PolicyState, count: int) -> Records[SweptOut]:
    _require_report(lab, state)
    values = load_sweep(lab, state, count).values
    if values is None:
        raise NotFound("threshold" if count == 1 else "second threshold", "of the draft")
    return values


def _require_report(lab: Lab, state: PolicyState) -> SimulationHandle:
    _require_link(state)
    replay = load_replay(lab, state)
    if replay.report is None:
        raise _refuse(replay.problems)
    return replay.report


def _require_link(state: PolicyState) -> None:
    if state.is_draft_lost:
        raise ValidationFailed("The draft is too long for a link, so it cannot be downloaded by one. Save it first.")


def _refuse(problems: Sequence[DraftProblem]) -> ValidationFailed:
    return ValidationFailed(f"The draft has an error in line {problems[0].line}: {problems[0].message}")
