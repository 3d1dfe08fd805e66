"""Runs a what-if over risk in a child process (`core.execution.worker_processes`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import orjson

from attestlab.core.clock import FixedClock
from attestlab.core.limits.concurrency import ConcurrencyLimit
from attestlab.orgs.rules import Caller
from attestlab.simulation.jobs import open_lake
from attestlab.simulation.risk.service import RiskSimulations
from attestlab.simulation.risk.shapes import SimulateRiskIn


def load_libraries() -> None:
    """Load what simulations need, so that the first one of this process does not wait for it."""
    from attestlab.simulation.risk import rendering, risk_simulation  # noqa: F401  # loading them is the purpose


def simulate_risk(
    place: Mapping[str, object],
    rules: bytes,
    options: SimulateRiskIn,
    limit_s: float,
    caller: Caller,
    now: datetime,
) -> bytes:
    """Simulate rules, a JSON list, over the signals of the lake at `place`; return the JSON of `RiskSimulationOut`.

    Raises:
        NotFound, ValidationFailed, Cancelled, Unavailable: see `RiskSimulations.run`.
    """
    from attestlab.simulation.risk.rendering import render_risk_simulation  # loads DuckDB, in its process alone
    from attestlab.simulation.risk.signal_history import SignalWindow

    storage, lake = open_lake(place)
    simulations = RiskSimulations(
        storage=storage,
        clock=FixedClock(now),
        lake=lake,
        concurrency=ConcurrencyLimit(1, "simulations"),
        time_limit_s=limit_s,
    )
    run = simulations.run(orjson.loads(rules), options, caller=caller)
    window = SignalWindow(options.from_, options.to)
    return render_risk_simulation(run, window).model_dump_json(by_alias=True).encode()
