"""Commands whose standard output is closed, full or no longer read fail instead of reporting success."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rendering import render_bundle as rendered
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.settings import Settings
from support.fork_server import get_fork_server
from support.lost_output import BROKEN_PIPE, CLOSED, FULL, into_broken_pipe, into_closed, into_full, run
from support.server_process import COMMAND
from support.timeouts import WAIT_TIMEOUT_S


class Records(NamedTuple):
    """A folder with records, a bundle of them, and the policy that trusts their log."""

    data: Path
    bundle: Path
    policy: Path


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Records]:
    folder = tmp_path_factory.mktemp("records")
    lab, made = Installation.init(Settings(data=folder / "data", database_url=None), clock=SystemClock())
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuer = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="k")
    request = MintRequest(issuer_id=issuer.issuer.id, kid="k", schema="degree", claims={"student_name": "Ada"})
    row, proofs, head = lab.attestations.load_evidence(lab.attestations.mint(request, caller=caller).id, caller=caller)
    (folder / "bundle.json").write_text(rendered(row, proofs, head, now=lab.clock.now()).model_dump_json(by_alias=True))
    (folder / "log.policy").write_text(f"log {made.public()['log_vkey']}\nquorum none\n")
    yield Records(folder / "data", folder / "bundle.json", folder / "log.policy")
    lab.close()


def verifying(installation: Records, *options: str) -> list[str]:
    return ["verify", str(installation.bundle), "--trust", str(installation.policy), *options]


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_lost_output_exits_3_not_another_verdict(installation: Records, options: tuple[str, ...]) -> None:
    command = verifying(installation, *options)

    with open(os.devnull, "w") as nothing:
        assert run(command, nothing.fileno()) == (0, "")
    assert into_full(command) == (3, FULL)
    assert into_closed(command) == (3, CLOSED)
    assert into_broken_pipe(command) == (BROKEN_PIPE, "")


def test_closed_stderr_does_not_mix_into_the_result(installation: Records) -> None:
    done = subprocess.run(
        [*COMMAND, *verifying(installation, "--json", "--as-of", "9999")],
        stdout=subprocess.PIPE,
        preexec_fn=partial(os.close, 2),
        text=True,
        timeout=WAIT_TIMEOUT_S,
        check=False,
    )

    assert done.returncode == 3
    assert json.loads(done.stdout)["verdict"] == "VALID"


@pytest.mark.parametrize(
    "command",
    [["log", "vkey"], ["log", "fsck", "--json"]],
    ids=" ".join,
)
def test_no_other_command_shows_a_traceback(installation: Records, command: list[str]) -> None:
    command = [*command, "--data", str(installation.data)]

    assert into_full(command) == (3, FULL)
    assert into_closed(command) == (3, CLOSED)
    assert into_broken_pipe(command) == (BROKEN_PIPE, "")


def test_interpreter_that_shuts_down_adds_nothing_to_a_lost_output(installation: Records) -> None:
    """The same for a process that a shell starts: Python itself writes what is left when it ends."""
    command = [*COMMAND, *verifying(installation)]
    with Path("/dev/full").open("w") as full:
        lost = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=WAIT_TIMEOUT_S)
    closed = subprocess.run(
        command, preexec_fn=partial(os.close, 1), stderr=subprocess.PIPE, text=True, timeout=WAIT_TIMEOUT_S
    )
    reading, writing = os.pipe()
    os.close(reading)
    broken = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=WAIT_TIMEOUT_S)
    os.close(writing)

    found = [(done.returncode, done.stderr) for done in (lost, closed, broken)]
    assert found == [(3, FULL), (3, CLOSED), (BROKEN_PIPE, "")]


@pytest.mark.parametrize("command", [["--help"], ["verify", "--help"]], ids=" ".join)
def test_help_into_a_closed_pipe_has_no_traceback(command: list[str]) -> None:
    for lost in (into_full, into_closed, into_broken_pipe):
        _, talk = lost(command)
        assert "Traceback" not in talk
        assert "Exception ignored" not in talk


@pytest.mark.parametrize("workers", ["1", "2"])
def test_server_that_cannot_announce_ends_without_leftovers(
    installation: Records, workers: str, tmp_path: Path
) -> None:
    serve = ["serve", "--data", str(installation.data), "--port", "0", "--workers", workers]
    with Path("/dev/full").open("w") as full, (tmp_path / "talk").open("w") as written, open(os.devnull) as nothing:
        streams = (nothing.fileno(), full.fileno(), written.fileno())
        server = get_fork_server().start_with(streams, "attestlab", *serve)
    assert server.wait() == 3

    talk = (tmp_path / "talk").read_text()
    assert talk.endswith(FULL)
    assert "Traceback" not in talk
    with pytest.raises(ProcessLookupError):
        os.killpg(server.pid, 0)
