"""Runs a simulation in a child process (`core.execution.worker_processes`), for large policies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path

from attestlab.core.clock import FixedClock, SystemClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.lake.service import Lake
from attestlab.orgs.rules import Caller
from attestlab.policy.jobs import PolicyArgument, open_records, parse_policy_argument
from attestlab.simulation.service import SimulationRun, Simulations
from attestlab.simulation.shapes import SimulateIn

START_S = 10.0  # for a child process to start and to read its input before its time limit begins


def simulate(
    place: Mapping[str, object],
    policy: PolicyArgument,
    options: SimulateIn,
    limit_s: float,
    caller: Caller,
    now: datetime,
) -> SimulationRun:
    """Simulate a policy over the history of the lake at `place`; the server signs and stores the report.

    Raises:
        NotFound, Conflict, ValidationFailed, Cancelled, Unavailable: see `Simulations.run`.
    """
    storage, lake = open_lake(place)
    unsigned = Keyring(bytes(32))
    simulations = Simulations(storage=storage, clock=FixedClock(now), keyring=unsigned, lake=lake, time_limit_s=limit_s)
    return simulations.run(parse_policy_argument(policy), options, caller=caller)


def open_lake(place: Mapping[str, object]) -> tuple[Storage, Lake]:
    """Open the records and the lake of an installation, as `Lake.connection_info` describes them."""
    rows_a_part = place["rows_a_part"]
    assert isinstance(rows_a_part, int)
    return _open_lake(str(place["records"]), str(place["folder"]), rows_a_part)


@cache
def _open_lake(records: str, folder: str, rows_a_part: int) -> tuple[Storage, Lake]:
    """Open a lake once in this process, so that its jobs share what it remembers of unexported facts."""
    storage = open_records(records)
    return storage, Lake(storage=storage, folder=Path(folder), clock=SystemClock(), rows_a_part=rows_a_part)
