"""Results of the service for runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attestlab.agents.runs.rules import PlannedStep
from attestlab.agents.runs.tables import RunRecord, RunStepRecord


@dataclass(frozen=True)
class RunDetails:
    """A run with its plan, and the steps that are recorded, in the order of the plan."""

    row: RunRecord
    plan: Sequence[PlannedStep] = field(repr=False)
    steps: Sequence[RunStepRecord] = field(repr=False)


@dataclass(frozen=True)
class RecordedOfPlan:
    """A step that was recorded, and what the plan has of it."""

    row: RunStepRecord
    planned: PlannedStep = field(repr=False)
