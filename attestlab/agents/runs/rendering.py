"""Rendering of runs and their steps as wire models; this module makes no decisions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from uuid import UUID

from attestlab.agents.proof_rendering import render_entry_proof, render_key_proof
from attestlab.agents.proof_shapes import ProofTreeHeadOut
from attestlab.agents.runs.bundle import FORMAT
from attestlab.agents.runs.results import RecordedOfPlan, RunDetails, RunProof
from attestlab.agents.runs.rules import PlannedStep
from attestlab.agents.runs.shapes import OPEN, ProvenStepOut, RunOut, RunPlanOut, RunProofOut, RunStepOut, RunSummaryOut
from attestlab.agents.runs.store import RunSummary
from attestlab.agents.runs.tables import RunRecord, RunStepRecord
from attestlab.core.encoding import b64_encode
from attestlab.core.row_rendering import RowRenderer

render_summary = RowRenderer(
    RunSummaryOut, RunSummary, orchestration_id="id", metadata=lambda row: json.loads(row.extra)
)
_render_run = RowRenderer(
    RunOut,
    RunRecord,
    computed=["steps"],
    orchestration_id="id",
    metadata=lambda row: json.loads(row.extra),
    plan=lambda row: RunPlanOut(**json.loads(row.plan)),
)
_render_recorded = RowRenderer(RunStepOut, RunStepRecord, computed=["type", "depends_on"], recorded_at="created_at")

_render_proven = RowRenderer(ProvenStepOut, RunStepRecord)
_render_proof = RowRenderer(
    RunProofOut,
    RunRecord,
    computed=["steps", "keys", "log_entry", "inclusion_proof", "signed_tree_head"],
    format=lambda _: FORMAT,
    orchestration_id="id",
    plan=lambda row: RunPlanOut(**json.loads(row.plan)),
)


def render_run(found: RunDetails) -> RunOut:
    """Render a run with its plan and steps."""
    recorded = {row.step_id: row for row in found.steps}
    return _render_run(found.row, steps=[_render_planned(step, recorded) for step in found.plan])


def render_step(recorded: RecordedOfPlan) -> RunStepOut:
    """Render a step that is recorded."""
    planned = recorded.planned
    return _render_recorded(recorded.row, type=planned.type, depends_on=list(planned.depends_on))


def render_proof(proof: RunProof) -> RunProofOut:
    """Render what a stranger needs to verify a run."""
    return _render_proof(
        proof.run.row,
        steps=[_render_proven(row) for row in proof.run.steps],
        keys=[render_key_proof(key) for key in proof.keys],
        log_entry=b64_encode(proof.end.entry),
        inclusion_proof=render_entry_proof(proof.end),
        signed_tree_head=ProofTreeHeadOut(checkpoint=proof.head.note),
    )


def _render_planned(step: PlannedStep, recorded: Mapping[str, RunStepRecord]) -> RunStepOut:
    row = recorded.get(step.id)
    return render_step(RecordedOfPlan(row, step)) if row is not None else _render_open(step)


def _render_open(step: PlannedStep) -> RunStepOut:
    return RunStepOut(
        step_id=step.id,
        type=step.type,
        depends_on=list(step.depends_on),
        status=OPEN,
        agent_id=None if step.agent_id is None else UUID(step.agent_id),
        inputs_hash=None,
        outputs_hash=None,
        chain_ok=None,
        latency_ms=None,
        kid=None,
        jws=None,
        recorded_at=None,
    )
