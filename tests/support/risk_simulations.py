"""Signals and cases of a what-if over risk, and what plain Python says of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import duckdb
import pyarrow as pa

from attestlab.lake import datasets
from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.context import Values
from attestlab.risk.enforcement.store import RiskCaseRecord
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.risk.risk_simulation import RiskSimulation
from attestlab.simulation.risk.rule_sets import LOOK_BACKS, live_rules
from attestlab.simulation.risk.signal_history import SignalWindow, encode_cases, load_signals

START = datetime(2026, 3, 1, tzinfo=UTC)
TENANT = UUID(int=1)
UNBOUNDED = SignalWindow()


class PastSignal(NamedTuple):
    """A signal of the past; `at_s` is its second after `START`, `case` the index of the case that it joined."""

    at_s: int
    score: float = 50.0
    entity: str = "ada"
    source: str = "login"
    case: int | None = None
    replaces: int | None = None


class PastCase(NamedTuple):
    """A case of an entity, open from one second to another; None is not resolved yet."""

    opened_s: int
    resolved_s: int | None
    outcome: str | None
    entity: str = "ada"


def at(second: int) -> datetime:
    """Return the moment that is `second` seconds after `START`."""
    return START + timedelta(seconds=second)


def make_risk_simulation(
    candidate: PolicySetMember,
    signals: Sequence[PastSignal],
    cases: Sequence[PastCase] = (),
    *,
    threshold: float = 80.0,
    window: SignalWindow = UNBOUNDED,
) -> RiskSimulation:
    """A simulation over these signals, numbered as they are listed."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("this", _make_table(signals))
    made = (_make_case(number, case) for number, case in enumerate(cases))
    table = encode_cases(made, now=datetime.now(UTC))

    def load(session: QuerySession, paths: frozenset[str]) -> None:
        load_signals(table, window, session, paths)

    return RiskSimulation(QuerySession(connection), candidate, live_rules(threshold), load, threshold)


def compute_values(signals: Sequence[PastSignal], number: int) -> Values:
    """The attributes of a signal, counted one by one."""
    signal = signals[number]
    own = [
        (each.at_s, n)
        for n, each in enumerate(signals)
        if each.entity == signal.entity and not _is_replaced(signals, n)
    ]
    past = sorted(place for place in own if place <= (signal.at_s, number))
    values: Values = {
        "signal.score": signal.score,
        "signal.source": signal.source,
        "signal.signal_type": "geo_anomaly",
        "signal.entity_type": "user",
    }
    for look_back in LOOK_BACKS:
        inside = [signals[n] for second, n in past if second > signal.at_s - look_back.seconds]
        values[f"entity.signals_{look_back.name}"] = len(inside)
        values[f"entity.max_score_{look_back.name}"] = max(each.score for each in inside)
        values[f"entity.sources_{look_back.name}"] = len({each.source for each in inside})
    since = [signal.at_s - second for second, n in past if n != number][-1:]
    if since and since[0] < LOOK_BACKS[-1].seconds:
        values["entity.seconds_since_previous"] = float(since[0])
    return values


def find_label(signals: Sequence[PastSignal], cases: Sequence[PastCase], number: int) -> str:
    """The outcome of the signal's case, or why it has none."""
    signal = signals[number]
    joined = signal.case
    if joined is None and signal.replaces is not None:
        joined = signals[signal.replaces].case
    if joined is not None:
        return cases[joined].outcome or "open"
    covering = [
        case
        for case in cases
        if case.entity == signal.entity
        and case.opened_s <= signal.at_s
        and (case.resolved_s is None or signal.at_s <= case.resolved_s)
    ]
    return (covering[-1].outcome or "open") if covering else "none"


def list_replayed(signals: Sequence[PastSignal], window: SignalWindow = UNBOUNDED) -> list[int]:
    """The numbers of the signals in a window that no other replaces."""
    return [
        n
        for n, each in enumerate(signals)
        if not _is_replaced(signals, n)
        and (window.start is None or at(each.at_s) >= window.start)
        and (window.end is None or at(each.at_s) < window.end)
    ]


def _is_replaced(signals: Sequence[PastSignal], number: int) -> bool:
    return any(each.replaces == number for each in signals)


def _make_table(signals: Sequence[PastSignal]) -> pa.Table:
    return datasets.SIGNALS.table(
        {
            "seq": number,
            "id": str(UUID(int=number + 1)),
            "tenant_id": str(TENANT),
            "source": each.source,
            "signal_type": "geo_anomaly",
            "entity_type": "user",
            "entity_id": each.entity,
            "score": each.score,
            "occurred_at": at(each.at_s),
            "details": "{}",
            "case_id": None if each.case is None else str(_case_id(each.case)),
            "event_id": None,
            "replaces": None if each.replaces is None else str(UUID(int=each.replaces + 1)),
            "created_at": at(each.at_s),
        }
        for number, each in enumerate(signals)
    )


def _case_id(number: int) -> UUID:
    return UUID(int=(1 << 64) + number)


def _make_case(number: int, case: PastCase) -> RiskCaseRecord:
    return RiskCaseRecord(
        id=_case_id(number),
        tenant_id=TENANT,
        entity_type="user",
        entity_id=case.entity,
        status="open" if case.outcome is None else "resolved",
        signal_count=1,
        max_score=90.0,
        opened_at=at(case.opened_s),
        outcome=case.outcome,
        resolved_at=None if case.resolved_s is None else at(case.resolved_s),
    )


def make_rules(*conditions: dict[str, Any]) -> list[dict[str, Any]]:
    """Rules `r0`, `r1`, ... with these conditions."""
    return [{"id": f"r{number}", "when": condition} for number, condition in enumerate(conditions)]
