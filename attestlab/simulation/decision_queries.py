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


def labels(sets: ScenarioSets) -> list[Label]:
    """Everybody who can decide."""
    return [
        Label(index * STEP + place, member.id, rule)
        for index, member in enumerate(sets.members)
        for place, rule in enumerate([None, *(rule.id for rule in member.policy.counting)])
    ]


def both_sides(sets: ScenarioSets, rows: str) -> str:
    """A query over `rows` that adds `@before`, `@after` (BOOLEAN) and `@why_before`, `@why_after` (a label's code).

    Where no policy applies everything is allowed, and nobody's label is NULL.
    """
    firsts = [
        f"{_where_asked(sets, member, first_sql(member.policy))} AS {_first(index)}"
        for index, member in enumerate(sets.members)
    ]
    sides: list[tuple[str, Callable[[TargetSets], tuple[PolicySetMember, ...]]]]
    sides = [("before", lambda place: place.before), ("after", lambda place: place.after)]
    said = [
        f"{_in_each_place(sets, side, spelt)} AS {name}"
        for suffix, side in sides
        for spelt, name in ((_all_allow, f'"@{suffix}"'), (_decider, f'"@why_{suffix}"'))
    ]
    return f"SELECT *, {', '.join(said)} FROM (SELECT {', '.join(['*', *firsts])} FROM {rows})"


def others_allow(trial: Scenario) -> str:
    """A BOOLEAN expression: whether every policy but the draft allows, once it is in force."""
    places = trial.sets.places
    return _cases([_conjunction([member for member in place.after if member != trial.draft]) for place in places])


def before_allows(trial: Scenario) -> str:
    """A BOOLEAN expression: whether the policies that are in force allow."""
    return _cases([_conjunction(place.before) for place in trial.sets.places])


def _conjunction(members: Sequence[PolicySetMember]) -> str:
    return " AND ".join(case_sql(member.policy) for member in members) or "TRUE"


def _first(index: int) -> str:
    return f'"@f{index}"'


def _where_asked(sets: ScenarioSets, member: PolicySetMember, expression: str) -> str:
    """CASE is lazy: rows of other places cost nothing."""
    asked = [str(number) for number, place in enumerate(sets.places) if member in place.before or member in place.after]
    if len(asked) == len(sets.places):
        return expression
    return f"CASE WHEN {PLACE} IN ({', '.join(asked)}) THEN {expression} END" if asked else "0"


def _in_each_place(
    sets: ScenarioSets,
    side: Callable[[TargetSets], tuple[PolicySetMember, ...]],
    spelt: Callable[[Sequence[tuple[int, PolicySetMember]]], str],
) -> str:
    numbers = {member: index for index, member in enumerate(sets.members)}
    spelled = [spelt([(numbers[member], member) for member in side(place)]) for place in sets.places]
    return _cases(spelled)


def _cases(spelled: Sequence[str]) -> str:
    """One expression for all places; the first is everybody's who has no other."""
    if len(set(spelled)) == 1:
        return f"({spelled[0]})"
    whens = " ".join(f"WHEN {number} THEN {each}" for number, each in enumerate(spelled) if number)
    return f"CASE {PLACE} {whens} ELSE {spelled[0]} END"


def _all_allow(members: Sequence[tuple[int, PolicySetMember]]) -> str:
    return " AND ".join(_allows(index, member) for index, member in members) or "TRUE"


def _allows(index: int, member: PolicySetMember) -> str:
    return f"{_first(index)} {'>=' if member.policy.default is Effect.ALLOW else '>'} 0"


def _decider(members: Sequence[tuple[int, PolicySetMember]]) -> str:
    """The first policy that denies; if none does, the first of which a rule matches, else the first."""
    if not members:
        return "NULL"
    codes = {index: f"{index * STEP} + abs({_first(index)})" for index, _ in members}
    whens = [f"WHEN NOT {_allows(index, member)} THEN {codes[index]}" for index, member in members]
    whens += [f"WHEN {_first(index)} <> 0 THEN {codes[index]}" for index, _ in members]
    return f"CASE {' '.join(whens)} ELSE {codes[members[0][0]]} END"
