"""Sweeps: the results for every value of one numeric threshold, or of two, in one query.

A row's result depends on a threshold only by the side on which the row's value lies. So each row is decided with the
leaf forced false and forced true, the results are counted by value, and cumulative sums give the result at each
threshold: lower values on its low side, the rest on its high side. A missing value is on neither side, and its result
is constant. With two thresholds there are four results per row, and sums along both axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from attestlab.core.errors import ValidationFailed
from attestlab.policy.language.ast import Comparison, Rule, iterate_comparisons
from attestlab.policy.language.attributes import NUMERIC, ORDERING, Op
from attestlab.policy.sql.compiler import quote_column, rules_sql
from attestlab.simulation import decision_queries
from attestlab.simulation.decision_queries import COUNT
from attestlab.simulation.scenarios import Scenario

ThresholdName = tuple[str, str] | tuple[str, str, str | None]
"""A requested threshold: the rule's id, the attribute, and `op` if that is ambiguous."""

_HIGH_IS_TRUE = frozenset({Op.GT, Op.GTE})
_AT_IT_IS_LOW = frozenset({Op.GT, Op.LTE})  # for these operators a value equal to the threshold is on its low side


@dataclass(frozen=True)
class Threshold:
    """A leaf that compares a number with a constant, in the draft's rule `rule_id`."""

    rule_id: str
    leaf: Comparison

    @classmethod
    def find(
        cls, rules: Sequence[Rule], rule_id: str, attribute: str, op: str | None = None, *, field: str = "/sweep/0"
    ) -> Threshold:
        """Find the threshold of a rule on an attribute; `op` selects one of several.

        `field` is where the request names it, for errors.

        Raises:
            ValidationFailed: there is none, or more than one.
        """
        rule = next((rule for rule in rules if rule.id == rule_id), None)
        if rule is None:
            message = f"The draft has no enforced rule {rule_id!r}."
            raise ValidationFailed.of(f"{field}/rule_id", "unknown_rule", message)
        comparisons = [
            leaf for leaf in iterate_comparisons(rule.when) if leaf.attribute.path == attribute and leaf.op in ORDERING
        ]
        comparisons = [leaf for leaf in comparisons if leaf.attribute.type in NUMERIC and op in (None, leaf.op.value)]
        if len(comparisons) != 1:
            raise ValidationFailed.of(
                f"{field}/attribute",
                "threshold",
                f"{rule_id} compares {attribute} with {len(comparisons)} thresholds{f' by {op}' if op else ''}; "
                "name one by attribute and op (lt, lte, gt, gte).",
            )
        return cls(rule_id, comparisons[0])

    @property
    def value(self) -> float:
        """The present value of the threshold."""
        assert isinstance(self.leaf.value, int | float)
        return float(self.leaf.value)

    def answer(self, side: str) -> bool:
        """Return the leaf's result for values on the `low` or `high` side."""
        return (side == "high") is (self.leaf.op in _HIGH_IS_TRUE)

    @property
    def join_operator(self) -> str:
        """The operator between a value `x` and the lowest threshold `v` that has `x` on its low side."""
        return "<=" if self.leaf.op in _AT_IT_IS_LOW else "<"


def sweep_sql(scenario: Scenario, thresholds: Sequence[Threshold], *, points: int) -> str:
    """Return a query with `value` (or `value_0`, `value_1`), `allowed`, `denied`, `opened`, `closed`, `is_current`.

    `opened` are denied by the active policies and would be allowed, `closed` the opposite. The values are those that
    occur, thinned evenly to about `points`, the present threshold, and one beyond the end at which every row changes
    side.
    """
    axes = [
        f"axis_{number} AS ({_axis_query(number, threshold, points)})" for number, threshold in enumerate(thresholds)
    ]
    steps = [f"cells AS ({_cells_query(scenario, thresholds)})", *axes, f"binned AS ({_binned_query(thresholds)})"]
    source, sides = "binned", len(thresholds)
    for number in reversed(range(sides)):
        steps.append(f"summed_{number} AS ({_cumulated_query(number, source, number)})")
        source = f"summed_{number}"
    totals = "SELECT coalesce(sum(was_allowed), 0) AS was_allowed, coalesce(sum(rows), 0) AS rows FROM cells"
    return f"WITH {', '.join(steps)}, totals AS ({totals}) {_result_query(thresholds, source)}"


def _states(count: int) -> list[tuple[str, ...]]:
    return list(product(("low", "high"), repeat=count))


def _cells_query(scenario: Scenario, thresholds: Sequence[Threshold]) -> str:
    """Count the rows of each value (or pair) that are opened and closed on each side."""
    counted = [f'"@x_{n}" AS x_{n}' for n in range(len(thresholds))]
    counted += [f"sum({COUNT}) AS rows", f'coalesce(sum({COUNT}) FILTER ("@was"), 0) AS was_allowed']
    for state in map("_".join, _states(len(thresholds))):
        then = f'("@others" AND "@{state}")'
        counted.append(f'coalesce(sum({COUNT}) FILTER ({then} AND NOT "@was"), 0) AS opened_{state}')
        counted.append(f'coalesce(sum({COUNT}) FILTER ("@was" AND NOT {then}), 0) AS closed_{state}')
    return f"SELECT {', '.join(counted)} FROM ({_answers_query(scenario, thresholds)}) GROUP BY ALL"


def _answers_query(scenario: Scenario, thresholds: Sequence[Threshold]) -> str:
    """Compute each row's result on each side (or pair of sides).

    Only rules with a swept leaf are evaluated more than once. The rules before, between and after them have the same
    result on all sides; later rules are evaluated only if no earlier one has decided.
    """
    before = {"@was": decision_queries.before_allows(scenario), "@others": decision_queries.others_allow(scenario)}
    before |= {f"@x_{n}": f"{quote_column(each.leaf.attribute.path)}::DOUBLE" for n, each in enumerate(thresholds)}
    rules, default = scenario.rules, scenario.draft.policy.default
    swept = sorted({number for number, rule in enumerate(rules) for each in thresholds if each.rule_id == rule.id})
    starts, ends = [0, *(number + 1 for number in swept)], [*swept, len(rules)]
    parts = [rules_sql(rules[start:end], None) for start, end in zip(starts[:-1], ends[:-1], strict=True)]
    parts.append(rules_sql(rules[starts[-1] :], default))
    behind = {f"@part_{number}": _if_undecided(part) for number, part in enumerate(parts) if number}
    answers = {}
    for state in _states(len(thresholds)):
        order = ['"@part_0"']
        for number, place in enumerate(swept, 1):
            name = "_".join(["@rule", str(number), *_sides_of(rules[place].id, thresholds, state)])
            behind[name] = _if_undecided(rules_sql([rules[place]], None, _forced_answers(thresholds, state)))
            order += [f'"{name}"', f'"@part_{number}"']
        answers["@" + "_".join(state)] = f"coalesce({', '.join(order)})" if scenario.draft.is_enforced else "TRUE"
    rows = _with_columns(_with_columns("contexts", {**before, "@part_0": parts[0]}), behind)
    return _with_columns(rows, answers)


def _forced_answers(thresholds: Sequence[Threshold], state: Sequence[str]) -> dict[tuple[str, Comparison], bool]:
    return {(each.rule_id, each.leaf): each.answer(side) for each, side in zip(thresholds, state, strict=True)}


def _sides_of(rule_id: str, thresholds: Sequence[Threshold], state: Sequence[str]) -> list[str]:
    """Return the sides of the thresholds that occur in a rule; the others do not affect it."""
    return [side for each, side in zip(thresholds, state, strict=True) if each.rule_id == rule_id]


def _if_undecided(expression: str) -> str:
    return f'CASE WHEN "@part_0" IS NULL THEN {expression} END'


def _with_columns(rows: str, columns: Mapping[str, str]) -> str:
    """Return a query over `rows` with more columns."""
    source = rows if rows.isidentifier() else f"({rows})"
    listed = ", ".join(f'{text} AS "{name}"' for name, text in columns.items())
    return f"SELECT *, {listed} FROM {source}"


def _axis_query(number: int, threshold: Threshold, points: int) -> str:
    attribute = threshold.leaf.attribute
    beyond = "min(v) - 1.0" if threshold.join_operator == "<=" else "max(v) + 1.0"
    bounds = [f"v >= {attribute.least}"] if attribute.least is not None else []
    bounds += [f"v <= {attribute.most}"] if attribute.most is not None else []
    numbered = (
        "SELECT v, row_number() OVER (ORDER BY v) AS i, count(*) OVER () AS k "
        f"FROM (SELECT DISTINCT x_{number} AS v FROM cells WHERE x_{number} IS NOT NULL)"
    )
    thinned = f"SELECT v FROM ({numbered}) WHERE i % greatest(1, ceil(k / {points})::BIGINT) = 0 OR i = 1 OR i = k"
    within = " AND ".join(["v IS NOT NULL", *bounds])
    ends = f"SELECT v FROM (SELECT {beyond} AS v FROM (SELECT x_{number} AS v FROM cells)) WHERE {within}"
    every = f"{thinned} UNION SELECT {threshold.value!r}::DOUBLE UNION ({ends})"
    return f"SELECT v, row_number() OVER (ORDER BY v) AS p FROM ({every})"


def _binned_query(thresholds: Sequence[Threshold]) -> str:
    """Group the cells by the lowest threshold that has them on its low side; cells above all thresholds come last."""
    source = "cells"
    for number, threshold in enumerate(thresholds):
        beyond = f"(SELECT count(*) + 1 FROM axis_{number})"
        source = (
            f"(SELECT c.*, coalesce(a.p, {beyond}) AS p_{number} FROM {source} AS c "
            f"ASOF LEFT JOIN axis_{number} AS a ON c.x_{number} {threshold.join_operator} a.v)"
        )
    places = [f"p_{number}" for number in range(len(thresholds))]
    sums = [f"sum({name}) AS {name}" for name in _measures(_states(len(thresholds)))]
    return f"SELECT {', '.join([*places, *sums])} FROM {source} GROUP BY ALL"


def _measures(states: Sequence[tuple[str, ...]]) -> list[str]:
    return [f"{kind}_{'_'.join(state)}" if state else kind for state in states for kind in ("opened", "closed")]


def _cumulated_query(number: int, source: str, left: int) -> str:
    """Cumulate one axis: each of its thresholds has lower values on its low side, the rest on its high side.

    `left` axes remain; the others are cumulated already.
    """
    rest = [f"p_{n}" for n in range(left)]
    done = [f"p_{n}" for n in range(number + 1, 2)] if source != "binned" else []
    keys = [*rest, *done]
    groups = f"(SELECT DISTINCT {', '.join(keys)} FROM {source})" if keys else "(SELECT 0 AS everything)"
    beyond = f"SELECT count(*) + 1 AS p FROM axis_{number}"
    grid = f"SELECT k.*, a.p AS p_{number} FROM {groups} AS k, (SELECT p FROM axis_{number} UNION ALL {beyond}) AS a"
    values = [
        f"coalesce(sum(low_{name}) OVER upto, 0) + coalesce(sum(high_{name}) OVER whole, 0) "
        f"- coalesce(sum(high_{name}) OVER upto, 0) AS {name}"
        for name in _measures(_states(left))
    ]
    low_high = [
        f"b.{kind}_{'_'.join((*state, side))} AS {side}_{f'{kind}_' + '_'.join(state) if state else kind}"
        for state in _states(left)
        for kind in ("opened", "closed")
        for side in ("low", "high")
    ]
    named = [*keys, f"p_{number}"]
    columns = ", ".join([*(f"g.{name}" for name in named), *low_high])
    join_operator = f"SELECT {columns} FROM ({grid}) AS g LEFT JOIN {source} AS b USING ({', '.join(named)})"
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    return (
        f"SELECT {', '.join([*named, *values])} FROM ({join_operator}) "
        f"WINDOW whole AS ({partition.strip()}), upto AS ({partition}ORDER BY p_{number})"
    )


def _result_query(thresholds: Sequence[Threshold], source: str) -> str:
    names = ["value"] if len(thresholds) == 1 else [f"value_{number}" for number in range(len(thresholds))]
    values = [f"axis_{number}.v AS {name}" for number, name in enumerate(names)]
    joins = " ".join(f"JOIN axis_{n} ON axis_{n}.p = s.p_{n}" for n in range(len(thresholds)))
    current = " AND ".join(f"axis_{n}.v = {each.value!r}::DOUBLE" for n, each in enumerate(thresholds))
    counts = [
        "(was_allowed + opened - closed)::BIGINT AS allowed",
        "(rows - was_allowed - opened + closed)::BIGINT AS denied",
        "opened::BIGINT AS opened",
        "closed::BIGINT AS closed",
        f"({current}) AS is_current",
    ]
    return f"SELECT {', '.join([*values, *counts])} FROM {source} AS s {joins}, totals ORDER BY ALL"
