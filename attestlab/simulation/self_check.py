"""The self-check: whether the policies that decided, asked again, say what they said.

It comes before everything else that a simulation tells. A past that does not come out as it was recorded was changed,
or is not understood; what a draft would do to it then says little.
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
"""The set that a decision's `members` name; raises where they name none."""


@dataclass(frozen=True)
class SelfCheck:
    """Whether the policies that decided, asked again, say what they said.

    `unexpected_flips` of `decisions` did not come out as recorded, `examples` are some of them; 0 is expected.
    `retyped` were not compared: a value counts for something else today, for the attribute was changed since.
    """

    decisions: int
    unexpected_flips: int
    retyped: int
    examples: tuple[str, ...]
    sql: tuple[str, ...]


def run_self_check(
    session: QuerySession, history: History, recorded: LoadRecordedSet, known_expressions: dict[str, str]
) -> SelfCheck:
    """Ask each set that decided about the decisions that name it; `known` is as `past.typed` has it."""
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
    """None where the text names no set that there is: then every decision with it is unexpected."""
    try:
        return recorded(members)
    except (NoResultFound, ValueError, TypeError, AttestLabError):
        return None


def _differences_query(sets: ScenarioSets, rows: str) -> str:
    """A query with one row: how many differ, how many cannot be compared, some of those that differ."""
    each = f"(SELECT *, 0 AS {PLACE}, 1::BIGINT AS {COUNT}, {ID} AS {EXAMPLE} FROM ({rows}))"
    decisions = report_queries.decisions_query(sets, each, [RETYPED, '"@allowed"', '"@matched"'])
    differs = '("@allowed" IS DISTINCT FROM allowed OR "@matched" IS DISTINCT FROM matched_rules)'
    unexpected = f"FILTER ({differs} AND NOT {RETYPED})"
    return (
        f"SELECT coalesce(sum({COUNT}) {unexpected}, 0)::BIGINT, coalesce(sum({COUNT}) FILTER ({RETYPED}), 0)::BIGINT, "
        f"list({EXAMPLE} ORDER BY {EXAMPLE}) {unexpected} FROM ({decisions})"
    )


def _raw_query(session: QuerySession, history: History) -> str:
    return str(session.with_connection(lambda connection: history.raw(connection, {})))
