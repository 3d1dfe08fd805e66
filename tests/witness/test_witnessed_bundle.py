"""The whole way over HTTP: a mint, a witness that saw it, a bundle that demands the witness, a follower too."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from attestlab.core import fetching
from attestlab.witness.service import create_witness
from support.attestations import make_mint_body, mint
from support.fork_server import run_command
from support.issuers import register_issuer
from support.ports import hold_port
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S
from support.witnesses import WitnessProcess

MINTS = 5

pytestmark = pytest.mark.both_engines


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts every byte and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def witnessed_bundle(client: httpx.Client, made: dict[str, Any]) -> dict[str, Any]:
    """The bundle of a mint, once a witness has seen it."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while time.monotonic() < deadline:
        bundle: dict[str, Any] = client.get(f"/v1/attestations/{made['id']}/proof-bundle").json()
        if bundle["signed_tree_head"]["cosignatures"]:
            return bundle
        time.sleep(0.1)
    raise AssertionError("no witness cosigned the attestation in time")


def mint_without_delay(client: httpx.Client, issuer: dict[str, Any]) -> dict[str, Any]:
    """A mint that took less time than a witness may be silent; one that waits for a witness always takes longer."""
    for _ in range(MINTS):
        began = time.monotonic()
        made: dict[str, Any] = mint(client, make_mint_body(issuer)).json()
        if time.monotonic() - began < fetching.SILENCE_TIMEOUT_S:
            return made
    raise AssertionError("each mint waited for the silent witness")


def test_bundle_can_require_a_witness_without_delaying_mints(
    empty_database: str, tmp_path: Path, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Of two witnesses one is required and works, the other is optional and hangs.
    """
    vkeys = [create_witness(tmp_path / name, name=f"witness.example/{name}", environ={}) for name in ("w1", "w2")]
    server = ServerProcess.initialised(tmp_path / "data", empty_database)
    with hold_port() as port, WitnessProcess(tmp_path / "w1", server.made["log_vkey"], port=port) as required:
        lines = f"witness required {vkeys[0]} {required.url}\nwitness optional {vkeys[1]} {silent}\n"
        log_line = f"log {server.made['log_vkey']}\n"
        for name, quorum in (("pinned", "required"), ("stricter", "optional"), ("trusting", "none")):
            (tmp_path / f"{name}.policy").write_text(f"{log_line}{lines}quorum {quorum}\n")
        monkeypatch.setenv("ATTESTLAB_WITNESSES", str(tmp_path / "pinned.policy"))
        with server, server.client() as client:
            issuer = register_issuer(client)
            made = mint(client, make_mint_body(issuer)).json()
            bundle = witnessed_bundle(client, made)
            (tmp_path / "bundle.json").write_text(json.dumps(bundle))
            required.kill()
            later = mint_without_delay(client, issuer)
            unwitnessed = client.get(f"/v1/attestations/{later['id']}/proof-bundle").json()
            watched = watch(server, tmp_path)
            required.start()
            again = witnessed_bundle(client, later)
            metrics = client.get("/metrics").text
            server.stop()
        required.stop()

    verify = [
        run_command("verify", str(tmp_path / "bundle.json"), "--trust", str(tmp_path / f"{name}.policy"), "--json")
        for name in ("pinned", "stricter", "trusting")
    ]
    assert [done.returncode for done in verify] == [0, 1, 0]
    assert "quorum optional" in verify[1].stdout
    assert unwitnessed["signed_tree_head"]["cosignatures"] == []
    assert unwitnessed["inclusion_proof"]["tree_size"] > bundle["inclusion_proof"]["tree_size"]
    assert [len(shown["signed_tree_head"]["cosignatures"]) for shown in (bundle, again)] == [1, 1]
    assert bundle["tlog_proof"].endswith(bundle["signed_tree_head"]["checkpoint"])
    assert watched == [0, 1, 2], "the follower takes what the witness has seen, and waits with the rest"
    assert f'attestlab_witness_cosigned_size{{witness="required"}} {again["inclusion_proof"]["tree_size"]}.0' in metrics
    server.check()


def watch(server: ServerProcess, folder: Path) -> list[int]:
    """The indexes of the entries that a follower gets who demands the required witness."""
    done = run_command(
        "log", "watch", server.url, "--vkey", server.made["log_vkey"], "--state", str(folder / "state.json"),
        "--witnessed", str(folder / "pinned.policy"), "--once",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["log_index"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("policy", ["quorum w1\n", "witness w1 nonsense http://127.0.0.1:1\nquorum w1\n", None])
def test_invalid_witness_file_stops_the_server_at_start(
    tmp_path: Path, policy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if policy is not None:
        (tmp_path / "witnesses.policy").write_text(policy)
    monkeypatch.setenv("ATTESTLAB_WITNESSES", str(tmp_path / "witnesses.policy"))
    (tmp_path / "data").mkdir(exist_ok=True)
    done = run_command("serve", "--data", str(tmp_path / "data"), "--port", "0")

    assert (done.returncode, done.stdout) == (2, "")
    assert "policy" in done.stderr.splitlines()[-1]
