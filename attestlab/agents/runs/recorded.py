"""Rows of recorded steps as the rules and hashes of runs have them."""

from __future__ import annotations

from collections.abc import Iterable

from attestlab.agents.runs.rules import RecordedStep, StepStatus
from attestlab.agents.runs.tables import RunStepRecord


def collect_recorded(rows: Iterable[RunStepRecord]) -> dict[str, RecordedStep]:
    """Collect the recorded steps of a run by their ids.

    Raises:
        ValidationFailed: a hash of a row is none.
        ValueError: a status of a row is none.
    """
    return {
        row.step_id: RecordedStep(
            row.step_id, str(row.agent_id), row.inputs_hash, row.outputs_hash, StepStatus(row.status)
        )
        for row in rows
    }
