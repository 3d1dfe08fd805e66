"""Results of the service for runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attestlab.agents.key_proofs import ProvenEntry, ProvenKey
from attestlab.agents.runs.rules import PlannedStep
from attestlab.agents.runs.tables import RunRecord, RunStepRecord
from attestlab.log.results import SignedHead


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


@dataclass(frozen=True)
class RunProof:
    """What a stranger needs to verify a run: the run, the agents' keys, its end in the log, and a signed head."""

    run: RunDetails
    keys: Sequence[ProvenKey] = field(repr=False)
    end: ProvenEntry = field(repr=False)
    head: SignedHead = field(repr=False)
