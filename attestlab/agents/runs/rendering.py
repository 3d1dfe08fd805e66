"""Rendering of runs and their steps as wire models; this module makes no decisions."""

from __future__ import annotations

import json
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
render_step = RowRenderer(
    RunStepOut,
    RecordedOfPlan,
    parts={"row": RunStepRecord},
    type=lambda recorded: recorded.planned.type,
    depends_on=lambda recorded: list(recorded.planned.depends_on),
    recorded_at="created_at",
)
_NOT_YET = ("inputs_hash", "outputs_hash", "chain_ok", "latency_ms", "kid", "jws", "recorded_at")
_render_open = RowRenderer(
    RunStepOut,
    PlannedStep,
    computed=(),
    parts={},
    step_id="id",
    depends_on=lambda step: list(step.depends_on),
    status=lambda _: OPEN,
    agent_id=lambda step: None if step.agent_id is None else UUID(step.agent_id),
    **dict.fromkeys(_NOT_YET, lambda _: None),
)


def _render_steps(found: RunDetails) -> list[RunStepOut]:
    recorded = {row.step_id: row for row in found.steps}
    return [
        render_step(RecordedOfPlan(recorded[step.id], step)) if step.id in recorded else _render_open(step)
        for step in found.plan
    ]


render_run = RowRenderer(
    RunOut,
    RunDetails,
    parts={"row": RunRecord},
    orchestration_id="id",
    metadata=lambda found: json.loads(found.row.extra),
    plan=lambda found: RunPlanOut(**json.loads(found.row.plan)),
    steps=_render_steps,
)
_render_proven = RowRenderer(ProvenStepOut, RunStepRecord)
render_proof = RowRenderer(
    RunProofOut,
    RunProof,
    parts={"run.row": RunRecord},
    format=lambda _: FORMAT,
    orchestration_id="id",
    plan=lambda proof: RunPlanOut(**json.loads(proof.run.row.plan)),
    steps=lambda proof: list(map(_render_proven, proof.run.steps)),
    keys=lambda proof: list(map(render_key_proof, proof.keys)),
    log_entry=lambda proof: b64_encode(proof.end.entry),
    inclusion_proof=lambda proof: render_entry_proof(proof.end),
    signed_tree_head=lambda proof: ProofTreeHeadOut(checkpoint=proof.head.note),
)
