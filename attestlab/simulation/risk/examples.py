"""Examples of each kind of result: single signals, with their ids and the values that decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.ast import iterate_comparisons
from attestlab.policy.language.attributes import AttributeValue
from attestlab.policy.language.context import Values
from attestlab.policy.sql.compiler import quote_column
from attestlab.simulation.decision_queries import EXAMPLE, before_and_after
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.risk.rule_sets import IS_FRAUD
from attestlab.simulation.risk.signal_history import CASE, LABEL
from attestlab.simulation.scenarios import ScenarioSets

MAX_EXAMPLES_PER_KIND = 5
_TRUTH = f'"{IS_FRAUD.path}"'
_KINDS = {
    "true_positive": f'{_TRUTH} AND NOT "@after"',
    "false_positive": f'NOT {_TRUTH} AND NOT "@after"',
    "miss": f'{_TRUTH} AND "@after"',
    "newly_escalated": '"@before" AND NOT "@after"',
    "newly_passed": 'NOT "@before" AND "@after"',
}


class SignalExample(NamedTuple):
    """A signal; `rule_id` is the rule that escalates it, and `values` are what that rule compares.

    For a signal that passes, `rule_id` is None and `values` has what any rule compares; a missing value is absent.
    """

    kind: str
    signal_id: str
    entity_type: str
    entity_id: str
    occurred_at: datetime
    label: str
    case_id: str | None
    live: bool
    candidate: bool
    rule_id: str | None
    values: Mapping[str, AttributeValue]


def find_examples(
    session: QuerySession, sets: ScenarioSets, rows: str, candidate: PolicySetMember
) -> list[SignalExample]:
    """Return the newest signals of each kind, at most one of a case.

    Raises:
        Cancelled, Unavailable: see `QuerySession.run`.
    """
    paths = sorted(candidate.policy.attributes())
    picked = session.run(_pick_query(before_and_after(sets, rows), paths))
    numbers = ", ".join({str(number) for _, number, *_ in picked}) or "NULL"
    described = {
        number: facts
        for number, *facts in session.run(
            f"SELECT seq, id, entity_type, entity_id, occurred_at FROM this WHERE seq IN ({numbers})"
        )
    }
    return [
        SignalExample._make(
            [kind, *described[number], *decided, *_explain(dict(zip(paths, read, strict=True)), candidate)]
        )
        for kind, number, *decided, read in picked
    ]


def _explain(read: Mapping[str, AttributeValue | None], candidate: PolicySetMember) -> tuple[str | None, Values]:
    """Return the rule that escalates a signal, and the values that it compares; see `SignalExample`."""
    values = {path: value for path, value in read.items() if value is not None}
    rule_id = next(iter(candidate.evaluator(values).matched), None)
    rules = [rule for rule in candidate.policy.rules if rule_id in (None, rule.id)]
    compared = {leaf.attribute.path for rule in rules for leaf in iterate_comparisons(rule.when)}
    return rule_id, {path: value for path, value in values.items() if path in compared}


def _pick_query(decided: str, paths: Sequence[str]) -> str:
    """Return the query of kind, number, label, case and decisions of each example, and a row of its attributes."""
    kinds = ", ".join(f"CASE WHEN {condition} THEN '{kind}' END" for kind, condition in _KINDS.items())
    listed = f"SELECT *, unnest([{kinds}]) AS kind FROM ({decided})"
    one_of_a_case = f"PARTITION BY kind, coalesce({CASE}, -{EXAMPLE} - 1) ORDER BY {EXAMPLE} DESC"
    apart = f"SELECT * FROM ({listed}) WHERE kind IS NOT NULL QUALIFY row_number() OVER ({one_of_a_case}) = 1"
    newest = f"QUALIFY row_number() OVER (PARTITION BY kind ORDER BY {EXAMPLE} DESC) <= {MAX_EXAMPLES_PER_KIND}"
    values = f"row({', '.join(f'p.{quote_column(path)}' for path in paths)})"
    return (
        f'SELECT kind, p.{EXAMPLE}, p.{LABEL}, c.case_id, NOT p."@before", NOT p."@after", {values} '
        f"FROM (SELECT * FROM ({apart}) {newest}) AS p LEFT JOIN cases AS c ON c.number = p.{CASE} "
        f"ORDER BY list_position({list(_KINDS)!r}, kind), p.{EXAMPLE} DESC"
    )
