"""DuckDB SQL for the decisions of policy sets on a row: every enforced policy must allow.

Internal columns begin with `@`, which no attribute's path does. Each member has one column with its deciding rule
(`sql.first_sql`), evaluated only for the targets where the member applies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.ast import Effect
from attestlab.policy.sql.compiler import case_sql, first_sql
from attestlab.simulation.scenarios import Scenario, ScenarioSets, TargetSets

COUNT, PLACE, EXAMPLE = '"@n"', '"@place"', '"@example"'
STEP = 1_024  # more than a policy has rules: a label is `member * STEP + the place of the rule, 0 for the default`


@dataclass(frozen=True)
class Label:
    """The decider: a rule of a policy; `rule` is None if none matched and the policy's default decided."""

    code: int
    policy: str
    rule: str | None


def list_labels(sets: ScenarioSets) -> list[Label]:
    """Return all possible deciders."""
    return [
        Label(index * STEP + place, member.id, rule)
        for index, member in enumerate(sets.members)
        for place, rule in enumerate([None, *(rule.id for rule in member.policy.enforced_rules)])
    ]


def before_and_after(sets: ScenarioSets, rows: str) -> str:
    """Return a query over `rows` that adds `@before`, `@after` (BOOLEAN) and `@why_before`, `@why_after` (label
    codes).

    Without an applicable policy the result is ALLOW and its label NULL.
    """
    firsts = [
        f"{_where_member(sets, member, first_sql(member.policy))} AS {_first_column(index)}"
        for index, member in enumerate(sets.members)
    ]
    sides: list[tuple[str, Callable[[TargetSets], tuple[PolicySetMember, ...]]]]
    sides = [("before", lambda place: place.before), ("after", lambda place: place.after)]
    columns = [
        f"{_per_target(sets, side, compile_side)} AS {name}"
        for suffix, side in sides
        for compile_side, name in ((_all_allow, f'"@{suffix}"'), (_decider, f'"@why_{suffix}"'))
    ]
    return f"SELECT *, {', '.join(columns)} FROM (SELECT {', '.join(['*', *firsts])} FROM {rows})"


def others_allow(scenario: Scenario) -> str:
    """Return a BOOLEAN expression: whether every policy except the draft allows, once the draft is active."""
    places = scenario.sets.places
    return _case_by_target(
        [_conjunction([member for member in place.after if member != scenario.draft]) for place in places]
    )


def before_allows(scenario: Scenario) -> str:
    """Return a BOOLEAN expression: whether the active policies allow."""
    return _case_by_target([_conjunction(place.before) for place in scenario.sets.places])


def _conjunction(members: Sequence[PolicySetMember]) -> str:
    return " AND ".join(case_sql(member.policy) for member in members) or "TRUE"


def _first_column(index: int) -> str:
    return f'"@f{index}"'


def _where_member(sets: ScenarioSets, member: PolicySetMember, expression: str) -> str:
    """Evaluate only where the member applies: CASE is lazy, so rows of other targets cost nothing."""
    places = [
        str(number) for number, place in enumerate(sets.places) if member in place.before or member in place.after
    ]
    if len(places) == len(sets.places):
        return expression
    return f"CASE WHEN {PLACE} IN ({', '.join(places)}) THEN {expression} END" if places else "0"


def _per_target(
    sets: ScenarioSets,
    side: Callable[[TargetSets], tuple[PolicySetMember, ...]],
    compile_side: Callable[[Sequence[tuple[int, PolicySetMember]]], str],
) -> str:
    numbers = {member: index for index, member in enumerate(sets.members)}
    expressions = [compile_side([(numbers[member], member) for member in side(place)]) for place in sets.places]
    return _case_by_target(expressions)


def _case_by_target(expressions: Sequence[str]) -> str:
    """Return one expression for all targets; the first is for every target without specific policies."""
    if len(set(expressions)) == 1:
        return f"({expressions[0]})"
    whens = " ".join(f"WHEN {number} THEN {each}" for number, each in enumerate(expressions) if number)
    return f"CASE {PLACE} {whens} ELSE {expressions[0]} END"


def _all_allow(members: Sequence[tuple[int, PolicySetMember]]) -> str:
    return " AND ".join(_allows(index, member) for index, member in members) or "TRUE"


def _allows(index: int, member: PolicySetMember) -> str:
    return f"{_first_column(index)} {'>=' if member.policy.default is Effect.ALLOW else '>'} 0"


def _decider(members: Sequence[tuple[int, PolicySetMember]]) -> str:
    """Return the first policy that denies; else the first with a matching rule, else the first."""
    if not members:
        return "NULL"
    codes = {index: f"{index * STEP} + abs({_first_column(index)})" for index, _ in members}
    whens = [f"WHEN NOT {_allows(index, member)} THEN {codes[index]}" for index, member in members]
    whens += [f"WHEN {_first_column(index)} <> 0 THEN {codes[index]}" for index, _ in members]
    return f"CASE {' '.join(whens)} ELSE {codes[members[0][0]]} END"
