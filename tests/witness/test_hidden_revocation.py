"""A true server whose operator goes back to an old copy: its signatures are sound, and it is found out all the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from attestlab.witness.service import create_witness
from support.attestations import make_mint_body, mint
from support.fork_server import run_command
from support.issuers import register_issuer
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S
from support.witnesses import WitnessProcess


@dataclass
class Story:
    """An honest server that revoked, a false one that never did, and what outsiders know."""

    honest: ServerProcess
    false: ServerProcess
    witness: WitnessProcess
    issuer: dict[str, Any]
    revoked: str
    size: int  # of the honest log, and of the last tree that follower and witness saw
    folder: Path

    def watch(self, server: ServerProcess) -> subprocess.CompletedProcess[str]:
        state, vkey = str(self.folder / "state.json"), self.honest.made["log_vkey"]
        return run_command("log", "watch", server.url, "--vkey", vkey, "--state", state, "--once", "--json")

    def verdict(self, bundle: bytes, trust: str) -> str:
        (self.folder / "bundle.json").write_bytes(bundle)
        policy = str(self.folder / f"{trust}.policy")
        done = run_command("verify", str(self.folder / "bundle.json"), "--trust", policy, "--json")
        verdict: str = json.loads(done.stdout)["verdict"]
        return verdict

    def outgrow(self, client: httpx.Client) -> None:
        """Let the false log become longer than the honest one is."""
        while client.get("/v1/log/head").json()["tree_size"] <= self.size:
            assert mint(client, make_mint_body(self.issuer)).status_code == 201


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    vkey = create_witness(tmp_path / "w", name="witness.example/w", environ={})
    honest = ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'data' / 'records.db'}")
    with WitnessProcess(tmp_path / "w", honest.made["log_vkey"]) as witness:
        log_line = f"log {honest.made['log_vkey']}\n"
        (tmp_path / "alone.policy").write_text(f"{log_line}quorum none\n")
        (tmp_path / "witnessed.policy").write_text(f"{log_line}witness w {vkey} {witness.url}\nquorum w\n")
        with honest, honest.client() as client:
            issuer = register_issuer(client)
            made = mint(client, make_mint_body(issuer)).json()["id"]
            honest.stop()
        backup = Path(shutil.copytree(tmp_path / "data", tmp_path / "backup"))
        false = ServerProcess(backup, f"sqlite:///{backup / 'records.db'}", honest.made)
        monkeypatch.setenv("ATTESTLAB_WITNESSES", str(tmp_path / "witnessed.policy"))
        with honest, honest.client() as client:
            assert client.post(f"/v1/attestations/{made}/revoke", json={"reason": "typo"}).status_code == 200
            size = client.get("/v1/log/head").json()["tree_size"]
            story = Story(honest, false, witness, issuer, made, size, tmp_path)
            witnessed = has_size(client, size)
            assert story.watch(honest).returncode == 0
            assert story.verdict(bundle_of(client, made), "witnessed") == "REVOKED"
            honest.stop()
        assert witnessed
        yield story
        honest.check()


def bundle_of(client: httpx.Client, attestation_id: str) -> bytes:
    answer = client.get(f"/v1/attestations/{attestation_id}/proof-bundle")
    assert answer.status_code == 200, answer.text
    return answer.content


def has_size(client: httpx.Client, size: int) -> bool:
    """Wait until the witness has seen the whole log."""
    return has_metric_line(client, f'attestlab_witness_cosigned_size{{witness="w"}} {size}.0')


def has_metric_line(client: httpx.Client, line: str) -> bool:
    """Wait until the server's metrics hold what begins like this."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while time.monotonic() < deadline:
        if any(shown.startswith(line) for shown in client.get("/metrics").text.splitlines()):
            return True
        time.sleep(0.1)
    return False


def test_a_follower_finds_the_hidden_revocation(story: Story) -> None:
    """
    First the log is shorter than it was; grown again, it is another one.
    """
    with story.false, story.false.client() as client:
        shrunk = story.watch(story.false)
        story.outgrow(client)
        forked = story.watch(story.false)
        story.false.stop()

    assert (shrunk.returncode, json.loads(shrunk.stderr)["alarm"]) == (1, "shrink")
    assert (forked.returncode, json.loads(forked.stderr)["alarm"]) == (1, "fork")


def test_a_witness_does_not_sign_the_forked_log(story: Story) -> None:
    """
    A verifier that trusts the log alone accepts the false bundle; one that requires the witness rejects it.
    """
    with story.false, story.false.client() as client:
        story.outgrow(client)
        refused = has_metric_line(client, 'attestlab_witness_submissions_total{outcome="refused",witness="w"}')
        bundle = bundle_of(client, story.revoked)
        story.false.stop()

    assert refused, "the witness was not asked, or it signed"
    assert story.verdict(bundle, "alone") == "VALID"
    assert story.verdict(bundle, "witnessed") == "INVALID"
    assert json.loads(bundle)["signed_tree_head"]["cosignatures"] == []
