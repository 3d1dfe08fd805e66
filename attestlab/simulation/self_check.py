"""The self-check: whether the recorded policy sets reproduce their recorded decisions.

It precedes all other results of a simulation. A history that does not reproduce was changed, or is misinterpreted;
then the simulation of a draft is unreliable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import NoResultFound

from attestlab.core.errors import AttestLabError
from attestlab.policy.evaluation.policy_set import PolicySet
from attestlab.policy.sql.compiler import literal
from attestlab.simulation import report_queries
from attestlab.simulation.decision_queries import COUNT, EXAMPLE, PLACE
from attestlab.simulation.history import ID, NUMBER, RETYPED, History, typed_query
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.scenarios import ScenarioSets, TargetSets

MAX_EXAMPLES = 20

LoadRecordedSet = Callable[[str], PolicySet]
"""Loads the set that a decision's `members` name; raises if there is none."""


@dataclass(frozen=True)
class SelfCheck:
    """The result of the self-check.

    `unexpected_flips` of `decisions` did not reproduce, `examples` are some of them; 0 is expected. `retyped`
    decisions were not compared: a value means something else today, because its attribute was changed since.
    """

    decisions: int
    unexpected_flips: int
    retyped: int
    examples: tuple[str, ...]
    sql: tuple[str, ...]


def run_self_check(
    session: QuerySession, history: History, recorded: LoadRecordedSet, known_expressions: dict[str, str]
) -> SelfCheck:
    """Evaluate each recorded set for its decisions; `known_expressions` is as in `history.typed_query`."""
    with session.steps(3):
        recorded_sets = f'SELECT "@set", "@members" FROM ({_raw_query(session, history)}) WHERE "@set" IS NOT NULL'
        groups = session.run(f"SELECT *, count(*) FROM ({recorded_sets}) GROUP BY ALL ORDER BY ALL")
        with session.steps(3 * len(groups)):
            each = [_check_set(session, history, recorded, known_expressions, *group) for group in groups]
    return SelfCheck(
        sum(check.decisions for check in each),
        sum(check.unexpected_flips for check in each),
        sum(check.retyped for check in each),
        tuple(name for check in each for name in check.examples)[:MAX_EXAMPLES],
        tuple(sql for check in each for sql in check.sql),
    )


def _check_set(
    session: QuerySession,
    history: History,
    recorded: LoadRecordedSet,
    known_expressions: dict[str, str],
    digest: str,
    members: str,
    count: int,
) -> SelfCheck:
    named = f'"@set" = {literal(digest)} AND "@members" = {literal(members)}'
    policies = _load_set_or_none(recorded, members)
    if policies is None or policies.digest != digest:
        sql = f"SELECT {ID} FROM ({_raw_query(session, history)}) WHERE {named} ORDER BY {NUMBER} LIMIT {MAX_EXAMPLES}"
        return SelfCheck(count, count, 0, tuple(row[0] for row in session.run(sql)), (sql,))
    counting = tuple(member for member in policies.members if member.is_enforced)
    sets = ScenarioSets.of([TargetSets(None, (), counting)])
    sql = _differences_query(
        sets, f"SELECT * FROM ({typed_query(session, history, sets.attributes(), known_expressions)}) WHERE {named}"
    )
    ((unexpected, retyped, examples),) = session.run(sql)
    return SelfCheck(count, unexpected, retyped, tuple(examples or ())[:MAX_EXAMPLES], (sql,))


def _load_set_or_none(recorded: LoadRecordedSet, members: str) -> PolicySet | None:
    """Return None if the text names no existing set: then every decision with it is unexpected."""
    try:
        return recorded(members)
    except (NoResultFound, ValueError, TypeError, AttestLabError):
        return None


def _differences_query(sets: ScenarioSets, rows: str) -> str:
    """Return a query with one row: how many differ, how many cannot be compared, examples of those that differ."""
    each = f"(SELECT *, 0 AS {PLACE}, 1::BIGINT AS {COUNT}, {ID} AS {EXAMPLE} FROM ({rows}))"
    decisions = report_queries.decisions_query(sets, each, [RETYPED, '"@allowed"', '"@matched"'])
    differs = '("@allowed" IS DISTINCT FROM allowed OR "@matched" IS DISTINCT FROM matched_rules)'
    unexpected = f"FILTER ({differs} AND NOT {RETYPED})"
    return (
        f"SELECT coalesce(sum({COUNT}) {unexpected}, 0)::BIGINT, coalesce(sum({COUNT}) FILTER ({RETYPED}), 0)::BIGINT, "
        f"list({EXAMPLE} ORDER BY {EXAMPLE}) {unexpected} FROM ({decisions})"
    )


def _raw_query(session: QuerySession, history: History) -> str:
    return session.with_connection(lambda connection: history.raw(connection, {}))
