"""Service for what-if over risk: replays a candidate rule set over a tenant's signals; nothing is stored.

DuckDB is loaded by the first simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.errors import ValidationFailed
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.core.limits.concurrency import ConcurrencyLimit
from attestlab.lake.service import Lake
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement import store as enforcement_store
from attestlab.risk.enforcement.cases import find_threshold
from attestlab.risk.enforcement.shapes import CasesQuery
from attestlab.risk.enforcement.store import ListPage
from attestlab.simulation.risk.metrics import ErrorCosts
from attestlab.simulation.risk.promotion import PromotionGate, decide_promotion
from attestlab.simulation.risk.shapes import SimulateRiskIn
from attestlab.simulation.rules import require_window

if TYPE_CHECKING:
    from attestlab.simulation.risk.examples import SignalExample
    from attestlab.simulation.risk.risk_simulation import CurvePoint, ExplainedSignal, RiskSimulation
    from attestlab.simulation.risk.tally import Tallies
    from attestlab.simulation.sweeps import Threshold

TIME_LIMIT_S = 60.0  # two million signals take 10 s of processor time, and longer on a busy machine
MAX_LABEL_CASES = 200_000
_TOO_LONG = "The simulation took over {:g} s. Narrow it by from and to, or send fewer rules."
RiskRules = Sequence[Mapping[str, object]]
"""Rules `{id, when}`, with conditions as in policies."""


class RiskSimulationRun(NamedTuple):
    """All results of a simulation; `threshold` is None, and the curve empty, if no rule compares a number."""

    live_threshold: float
    costs: ErrorCosts
    tallies: Tallies
    gate: PromotionGate
    threshold: Threshold | None
    curve: Sequence[CurvePoint]
    examples: Sequence[SignalExample]
    explained: ExplainedSignal | None


class RiskSimulations:
    """Simulates rule sets over recorded signals. The live rule is the tenant's escalation threshold."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        lake: Lake,
        concurrency: ConcurrencyLimit,
        time_limit_s: float = TIME_LIMIT_S,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.lake = lake
        self.concurrency = concurrency
        self.time_limit_s = time_limit_s
        self.workers = WorkerProcesses(processes=1)
        """Runs the simulations of requests, one at a time: each takes up to a gigabyte, and no policy waits for it."""

    def close(self) -> None:
        """End the child process."""
        self.workers.close()

    def of(
        self, rules: RiskRules, *, start: datetime | None = None, end: datetime | None = None, caller: Caller
    ) -> RiskSimulation:
        """Prepare the simulation of a rule set over the signals that occurred from `start` to before `end`.

        Raises:
            ValidationFailed: a rule is invalid; `start` is not before `end`, or has no time zone; there are too many
                cases.
        """
        from attestlab.simulation.query_session import QuerySession  # loads DuckDB, which a start need not wait for
        from attestlab.simulation.risk.risk_simulation import RiskSimulation
        from attestlab.simulation.risk.rule_sets import live_rules, read_candidate
        from attestlab.simulation.risk.signal_history import SignalWindow, encode_cases, load_signals

        require_window(start, end)
        candidate = read_candidate(rules)
        with self.storage.read() as connection:
            threshold = find_threshold(connection, caller.tenant_id)
            cases = enforcement_store.list_cases(
                connection.execute, ListPage(caller.tenant_id, limit=MAX_LABEL_CASES + 1), CasesQuery()
            )
        if len(cases) > MAX_LABEL_CASES:
            message = f"The tenant has over {MAX_LABEL_CASES:,} cases, more than a simulation reads."
            raise ValidationFailed.of("", "too_many_cases", message)
        load = partial(load_signals, encode_cases(cases, now=self.clock.now()), SignalWindow(start, end))
        session = QuerySession(self.lake(caller).signals.connect())
        return RiskSimulation(session, candidate, live_rules(threshold), load, threshold)

    def run(
        self,
        rules: RiskRules,
        options: SimulateRiskIn,
        *,
        is_cancelled: Callable[[], bool] = lambda: False,
        caller: Caller,
    ) -> RiskSimulationRun:
        """Run a complete simulation within its time limit, with the options of a request and its rules, parsed.

        It stops as soon as `is_cancelled` returns true, which another thread checks many times a second. The curve
        has about `options.points` points.

        Raises:
            ValidationFailed: see `of`; or the threshold is invalid; or there are too many signals.
            NotFound: the signal to explain is not in the replayed history.
            Cancelled: it took too long, or was cancelled.
            Unavailable: too many simulations are running.
        """
        threshold = None if options.threshold is None else options.threshold.name
        costs = ErrorCosts(options.costs.missed_fraud, options.costs.false_alarm)
        with (
            self.concurrency.acquire(),
            self.of(rules, start=options.from_, end=options.to, caller=caller) as simulation,
            simulation.session.deadline(
                self.time_limit_s, _TOO_LONG.format(self.time_limit_s), is_cancelled=is_cancelled
            ),
        ):
            swept = simulation.find_threshold(threshold)  # first, so that an invalid one costs little
            explained = None if options.explain is None else simulation.explain(str(options.explain))
            tallies = simulation.tally()
            return RiskSimulationRun(
                live_threshold=simulation.live_threshold,
                costs=costs,
                tallies=tallies,
                gate=decide_promotion(tallies.evidence),
                threshold=swept,
                curve=[] if swept is None else simulation.curve(swept, costs=costs, points=options.points),
                examples=simulation.examples(),
                explained=explained,
            )
