"""Runs a simulation in a child process (`core.execution.worker_processes`), for large policies."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.lake.service import Lake
from attestlab.orgs.rules import Caller
from attestlab.policy.jobs import PolicyArgument, open_records, parse_policy_argument
from attestlab.simulation.service import Simulations

if TYPE_CHECKING:
    from attestlab.simulation.reports import ComposedReport


def simulate(
    place: Mapping[str, Any],
    policy: PolicyArgument,
    options: Mapping[str, Any],
    limit_s: float,
    caller: Caller,
    now: datetime,
) -> tuple[ComposedReport, dict[str, Any]]:
    """Simulate a policy over the history of the lake at `place`; the server signs and stores the report.

    Raises:
        NotFound, Conflict, ValidationFailed, Cancelled, Unavailable: see `Simulations.run`.
    """
    storage = open_records(place["records"])
    lake = Lake(storage=storage, folder=Path(place["folder"]), rows_a_part=place["rows_a_part"])
    unsigned = Keyring(bytes(32))
    simulations = Simulations(storage=storage, clock=FixedClock(now), keyring=unsigned, lake=lake, time_limit_s=limit_s)
    return simulations.run(parse_policy_argument(policy), caller=caller, **options)
