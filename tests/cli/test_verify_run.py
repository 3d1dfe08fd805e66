"""`attestlab verify` reads the bundle of a run offline, and leaves a verdict, an exit status and what is open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attestlab.agents.runs.rendering import render_proof
from attestlab.agents.runs.rules import StepStatus
from attestlab.agents.runs.shapes import PlannedStepIn, RunCompleteIn, RunIn, RunPlanIn, RunStepIn
from attestlab.agents.shapes import AgentIn
from attestlab.cli.verify import COULD_NOT_CHECK, OTHER_VERDICT, UNUSABLE, VALID, verify
from attestlab.installation import Installation
from support.runs import digest

pytestmark = pytest.mark.own_world


@pytest.fixture
def bundle(lab: Installation) -> dict[str, Any]:
    """The proof bundle of a run of two steps, the second of which took other inputs."""
    caller = lab.operator_caller()
    agent = lab.agents.registry.register(AgentIn(display_name="Month's end"), caller=caller).row
    steps = [PlannedStepIn(id="read", type="fetch"), PlannedStepIn(id="sum", type="compute", depends_on=["read"])]
    body = RunIn(agent_id=str(agent.id), name="Invoices", plan=RunPlanIn(steps=steps))
    run = lab.agents.runs.start(body, caller=caller).row
    for step in steps:
        hashes = {"inputs_hash": digest("start"), "outputs_hash": digest(step.id)}
        sent = RunStepIn(step_id=step.id, status=StepStatus.COMPLETED, **hashes)
        lab.agents.runs.record(run.id, sent, caller=caller)
    lab.agents.runs.complete(run.id, RunCompleteIn(), caller=caller)
    return render_proof(lab.agents.runs.prove(run.id, caller=caller)).model_dump(mode="json")


@pytest.fixture
def trust(lab: Installation, tmp_path: Path) -> Path:
    with lab.storage.read() as connection:
        (tmp_path / "trust.txt").write_text(f"log {lab.log.vkey(connection)}\nquorum none\n")
    return tmp_path / "trust.txt"


def write(folder: Path, document: object) -> Path:
    (folder / "run.json").write_text(json.dumps(document))
    return folder / "run.json"


def test_a_valid_run_says_what_was_recorded_and_what_does_not_chain(bundle, trust, tmp_path, capsys):
    assert verify(write(tmp_path, bundle), file=None, trust=trust) == VALID
    text = capsys.readouterr().out
    assert text.startswith("VALID  run of agents, completed, 2 of 2 steps")
    assert f"hash    {bundle['run_hash']}" in text
    assert "chain   NOT ok: sum" in text
    assert "not checked offline: what the steps did" in text


def test_json_has_the_verdict_and_the_log(bundle, trust, tmp_path, capsys):
    assert verify(write(tmp_path, bundle), file=None, trust=trust, as_json=True) == VALID
    shown = json.loads(capsys.readouterr().out)
    assert (shown["verdict"], shown["valid"], shown["reasons"]) == ("VALID", True, [])
    assert (shown["chain_ok"], shown["unchained_steps"]) == (False, ["sum"])
    assert shown["log"]["tree_size"] > bundle["inclusion_proof"]["log_index"]


def test_a_changed_run_says_what_failed(bundle, trust, tmp_path, capsys):
    changed = {**bundle, "status": "failed"}
    assert verify(write(tmp_path, changed), file=None, trust=trust) == OTHER_VERDICT
    assert capsys.readouterr().out.startswith("HASH_MISMATCH")


def test_what_does_not_belong_is_unusable_and_without_trust_nothing_is_checked(bundle, trust, tmp_path, capsys):
    file = write(tmp_path, bundle)
    assert verify(file, file=file, trust=trust) == UNUSABLE
    assert verify(file, file=None, trust=None) == COULD_NOT_CHECK
    assert verify(write(tmp_path, {**bundle, "steps": 7}), file=None, trust=trust) == UNUSABLE
    newer = {**bundle, "format": "attestlab-run/2"}
    assert verify(write(tmp_path, newer), file=None, trust=trust) == COULD_NOT_CHECK
    assert "attestlab-run/2" in capsys.readouterr().err
