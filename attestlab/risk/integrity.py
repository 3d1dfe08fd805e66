"""Consistency checks of risk: the chains of signals and raw events, the signals of each case, links, and activity."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from attestlab.risk.activity.derivation import find_wrong_activity
from attestlab.risk.enforcement.store import cases
from attestlab.risk.links.derivation import find_wrong_links
from attestlab.risk.normalization import service as normalization
from attestlab.risk.signals import recording
from attestlab.risk.signals.store import signals

CHAINS = (recording.NUMBERED.chain, normalization.NUMBERED.chain)


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield inconsistencies as (place, problem)."""
    for rows in (recording.NUMBERED, normalization.NUMBERED):
        for message in rows.find_breaks(connection):
            yield rows.chain, message
    yield from _find_wrong_cases(connection)
    yield from find_wrong_links(connection)
    yield from find_wrong_activity(connection)


def _find_wrong_cases(connection: Connection) -> Iterator[tuple[str, str]]:
    """Compare each case with the number and the highest score of its signals."""
    counted = select(signals.c.case_id, func.count().label("count"), func.max(signals.c.score).label("score"))
    of_case = counted.where(signals.c.case_id.is_not(None)).group_by(signals.c.case_id).subquery()
    joined = cases.outerjoin(of_case, of_case.c.case_id == cases.c.id)
    query = select(cases.c.id, cases.c.signal_count, cases.c.max_score, of_case.c.count, of_case.c.score)
    for case_id, count, score, found, highest in connection.execute(query.select_from(joined)):
        if (count, score) != (found, highest):
            yield f"case {case_id}", f"counts {count} signals up to {score}, and has {found} up to {highest}"
