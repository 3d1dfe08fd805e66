"""What sets of policies say of a row, as DuckDB SQL: every policy that counts must allow.

Internal columns begin with `@`, which no attribute's path does. Each member has one column with the rule that decides
in it (`sql.first_sql`), asked only in the places where it has a say.
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
    """Who decided: a rule of a policy; `rule` is None where none matched and the policy's default did."""

    code: int
    policy: str
    rule: str | None


def list_labels(sets: ScenarioSets) -> list[Label]:
    """Everybody who can decide."""
    return [
        Label(index * STEP + place, member.id, rule)
        for index, member in enumerate(sets.members)
        for place, rule in enumerate([None, *(rule.id for rule in member.policy.enforced_rules)])
    ]


def before_and_after(sets: ScenarioSets, rows: str) -> str:
    """A query over `rows` that adds `@before`, `@after` (BOOLEAN) and `@why_before`, `@why_after` (a label's code).

    Where no policy applies everything is allowed, and nobody's label is NULL.
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
    """A BOOLEAN expression: whether every policy but the draft allows, once it is in force."""
    places = scenario.sets.places
    return _case_by_target(
        [_conjunction([member for member in place.after if member != scenario.draft]) for place in places]
    )


def before_allows(scenario: Scenario) -> str:
    """A BOOLEAN expression: whether the policies that are in force allow."""
    return _case_by_target([_conjunction(place.before) for place in scenario.sets.places])


def _conjunction(members: Sequence[PolicySetMember]) -> str:
    return " AND ".join(case_sql(member.policy) for member in members) or "TRUE"


def _first_column(index: int) -> str:
    return f'"@f{index}"'


def _where_member(sets: ScenarioSets, member: PolicySetMember, expression: str) -> str:
    """CASE is lazy: rows of other places cost nothing."""
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
    """One expression for all places; the first is everybody's who has no other."""
    if len(set(expressions)) == 1:
        return f"({expressions[0]})"
    whens = " ".join(f"WHEN {number} THEN {each}" for number, each in enumerate(expressions) if number)
    return f"CASE {PLACE} {whens} ELSE {expressions[0]} END"


def _all_allow(members: Sequence[tuple[int, PolicySetMember]]) -> str:
    return " AND ".join(_allows(index, member) for index, member in members) or "TRUE"


def _allows(index: int, member: PolicySetMember) -> str:
    return f"{_first_column(index)} {'>=' if member.policy.default is Effect.ALLOW else '>'} 0"


def _decider(members: Sequence[tuple[int, PolicySetMember]]) -> str:
    """The first policy that denies; if none does, the first of which a rule matches, else the first."""
    if not members:
        return "NULL"
    codes = {index: f"{index * STEP} + abs({_first_column(index)})" for index, _ in members}
    whens = [f"WHEN NOT {_allows(index, member)} THEN {codes[index]}" for index, member in members]
    whens += [f"WHEN {_first_column(index)} <> 0 THEN {codes[index]}" for index, _ in members]
    return f"CASE {' '.join(whens)} ELSE {codes[members[0][0]]} END"
