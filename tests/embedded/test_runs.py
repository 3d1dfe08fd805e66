"""Runs of agents in Python, through both doors: planned, recorded, ended, and verified without the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from attestlab.client.lab import Lab
from attestlab.client.own_keys import OwnKey
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Conflict, NotFound, ServiceFailed, ValidationFailed
from support.server_process import ServerProcess
from support.two_doors import DOORS, open_doors


@pytest.fixture(scope="module")
def labs(running: ServerProcess) -> Iterator[dict[str, Lab]]:
    with open_doors(running, "Runners") as opened:
        yield opened


@pytest.fixture(params=DOORS)
def lab(request: pytest.FixtureRequest, labs: dict[str, Lab]) -> Lab:
    return labs[request.param]


def test_a_run_is_recorded_step_by_step_and_verified_without_the_service(lab: Lab, tmp_path: Path) -> None:
    agent = lab.agents.register(f"Reader {uuid4()}")
    run = lab.runs.start(agent, ["read", "sum"], metadata={"month": "November"})
    assert (run.name, run.status, run.planned_steps, run.metadata) == ("read, sum", "running", 2, {"month": "November"})

    with pytest.raises(Conflict, match="read"):
        run.step("sum", inputs=b"", outputs=b"")
    read = run.step("read", inputs=b"the mail", outputs=b"12", latency_ms=40)
    total = lab.runs.step(run.id, "sum", outputs=sha256(b"12 EUR").hexdigest(), agent=agent.agent_id)
    assert (read.outputs_hash, read.latency_ms) == (sha256(b"12").hexdigest(), 40)
    assert (total.inputs_hash, total.chain_ok) == (read.outputs_hash, True)
    with pytest.raises(Conflict, match="recorded"):
        run.step("sum", outputs=b"13")
    with pytest.raises(Conflict, match="ended"):
        run.proof()

    ended = run.complete()
    assert (ended.status, ended.recorded_steps, ended.chain_ok) == ("completed", 2, True)
    assert [each.id for each in lab.runs.list(agent_id=agent.id, status="completed")] == [run.id]
    assert lab.runs[run.id].log_index == lab.runs[0].log_index == ended.log_index
    assert list(lab.runs.details(run).steps.df()["step_id"]) == ["read", "sum"]
    rows = lab.runs.steps.df().query("orchestration_id == @run_id", local_dict={"run_id": str(run.id)})
    assert list(rows.sort_values("position")["log_index"]) == [ended.log_index] * 2
    proof = ended.proof()
    assert proof.verify(trust=lab.log.vkey().trust_policy).verdict == "VALID"
    assert json.loads(proof.save(tmp_path / "run.json").read_text())["run_hash"] == ended.run_hash
    for shown in (ended, run.details(), total):
        assert "completed" in shown._repr_html_()


def test_steps_that_join_take_what_all_of_them_depend_on(lab: Lab) -> None:
    steps: list[dict[str, Any]] = [{"id": "a"}, {"id": "b", "type": "fetch"}, {"id": "c", "depends_on": ["b", "a"]}]
    run = lab.runs.start(lab.agents.register(f"Joiner {uuid4()}"), steps, name="A join")
    outputs = [run.step(name, inputs=b"", outputs=name.encode()).outputs_hash or "" for name in "ba"]

    joined = run.step("c", outputs=b"ba", status="failed")

    assert (joined.inputs_hash, joined.chain_ok) == (sha256("\n".join(outputs).encode()).hexdigest(), True)
    assert [step.type for step in run.details().steps] == ["task", "fetch", "task"]
    assert lab.runs.complete(run, "failed").run_hash


def test_wrong_arguments_of_runs_say_what_to_pass(lab: Lab) -> None:
    agent = lab.agents.register(f"Careless {uuid4()}")
    run = lab.runs.start(agent, ["only"])

    with pytest.raises(ValidationFailed, match="Pass its inputs"):
        run.step("only", outputs=b"")
    with pytest.raises(ValidationFailed, match="64"):
        run.step("only", inputs="short", outputs=b"")
    with pytest.raises(ValidationFailed, match="steps"):
        lab.runs.start(agent, 7)  # type: ignore[arg-type]  # what a person may pass
    with pytest.raises(ValidationFailed, match="steps"):
        lab.runs.start(agent, [{"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}])
    with pytest.raises(NotFound):
        lab.runs.step(uuid4(), "only", inputs=b"", outputs=b"")
    assert run.details().steps[0].status == "open"


def test_the_holder_of_an_own_key_signs_its_steps(lab: Lab) -> None:
    key = OwnKey.generate()
    agent = lab.agents.register(f"Holder {uuid4()}", key=key)
    run = lab.runs.start(agent, ["sign"])

    with pytest.raises(ValidationFailed, match="Pass key="):
        run.step("sign", inputs=b"a", outputs=b"b")
    signed = run.step("sign", inputs=b"a", outputs=b"b", key=key)

    assert (signed.kid, signed.agent_id) == (agent.key_id, agent.id)
    assert run.complete().proof().verify(trust=lab.log.vkey().trust_policy).verdict == "VALID"


WANTED: dict[str, Any] = {"step_id": "read", "inputs_hash": "a" * 64, "outputs_hash": "b" * 64, "status": "completed"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("typ", "agent-vote+jwt"), ("v", 2), ("orchestration_id", str(UUID(int=9))), ("step_id", "other")),
        *(("inputs_hash", "c" * 64), ("outputs_hash", "c" * 64), ("status", "failed"), ("more", 1)),
    ],
)
def test_a_key_signs_no_other_step_than_its_holder_wants(name: str, value: object) -> None:
    key, run_id = OwnKey.generate(), UUID(int=3)
    header = {"alg": "EdDSA", "kid": "k", "typ": "agent-step+jwt"}
    claims = {"v": 1, "iss": str(uuid4()), "iat": 1, "orchestration_id": str(run_id), **WANTED}

    def sign(header: dict[str, Any], claims: dict[str, Any]) -> str:
        prepared = ".".join(b64url_encode(canonical(part)) for part in (header, claims))
        return key.sign_run_step(prepared, orchestration_id=run_id, **WANTED)

    assert sign(header, claims).count(".") == 2
    with pytest.raises(ServiceFailed, match="this step"):
        sign({**header, name: value} if name == "typ" else header, claims if name == "typ" else {**claims, name: value})
