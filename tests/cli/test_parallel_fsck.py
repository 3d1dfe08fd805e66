"""`attestlab log fsck` in several processes: the problems of a serial run, progress on a terminal, no orphans."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.integrity.fsck import FsckPart, fsck, plan_parts
from attestlab.settings import Settings

# The command with small parts and two processes, however many processors there are.
DIVIDED = """
import os
import attestlab.integrity.parallel_fsck as checking, attestlab.integrity.fsck as fsck
from attestlab.cli.main import main
def killed(*_given):
    os._exit(9)
fsck.ATTESTATIONS_PER_PART = 4
checking._process_count = lambda planned: 2
{}
main()
"""


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """Ten attestations."""
    lab, made = Installation.init(Settings(data=tmp_path / "data", database_url=None), clock=SystemClock())
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuer = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="k")
    for number in range(10):
        claims = {"student_name": f"Student {number}"}
        request = MintRequest(issuer_id=issuer.issuer.id, kid="k", schema="degree", claims=claims)
        lab.attestations.mint(request, caller=caller)
    yield lab
    lab.close()


def command(lab: Installation, *options: str, change: str = "") -> list[str]:
    arguments = ["log", "fsck", "--data", str(lab.settings.data), *options]
    return [sys.executable, "-c", DIVIDED.format(change), *arguments]


def checked(lab: Installation, *options: str, change: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(lab, *options, change=change), capture_output=True, text=True, timeout=120, check=False
    )


def test_attestation_parts_have_no_gap(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attestlab.integrity.fsck.ATTESTATIONS_PER_PART", 4)
    with installation.storage.read() as connection:
        divided = [part for part in plan_parts(connection) if part.name == "attestations"]

    assert len(divided) == 3
    assert [part.first for part in divided[1:]] == [part.end for part in divided[:-1]]
    assert (divided[0].first, divided[-1].end) == (None, None)
    assert FsckPart("attestations") not in divided


def test_a_sound_installation_is_clean(installation: Installation) -> None:
    done = checked(installation)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "clean\n")


def test_parallel_problems_equal_serial_problems(installation: Installation) -> None:
    with installation.storage.engine.connect() as connection:
        ids = connection.execute(text("SELECT id FROM attestations ORDER BY id")).scalars().all()
        for changed in (ids[0], ids[5], ids[9]):
            connection.execute(text("UPDATE attestations SET claims = x'7b7d' WHERE id = :id"), {"id": changed})
        connection.execute(text("UPDATE audit_events SET action = 'other' WHERE seq = 3"))
        connection.commit()
    expected = [{"kind": item.kind, "where": item.where, "message": item.message} for item in fsck(installation)]

    done = checked(installation, "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout) == {"clean": False, "problems": expected}
    assert sum(item["kind"] == "attestation" for item in expected) == 6  # its signature, and its row
    assert any(item["kind"] == "audit" for item in expected)


def test_killed_process_is_reported_not_taken_as_clean(installation: Installation) -> None:
    done = checked(installation, change="checking._check_in_process = killed")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "A process of the check was killed" in done.stderr


@pytest.mark.parametrize(("options", "is_shown"), [((), True), (("--json",), False)], ids=["text", "json"])
def test_progress_is_shown_on_a_terminal_and_only_there(
    installation: Installation, options: tuple[str, ...], is_shown: bool
) -> None:
    terminal, its_end = pty.openpty()
    done = subprocess.run(
        command(installation, *options), stdout=subprocess.PIPE, stderr=its_end, timeout=120, check=False
    )
    os.close(its_end)
    shown = b""
    try:
        while piece := os.read(terminal, 10_000):
            shown += piece
    except OSError:  # the terminal has no other end any more
        pass
    os.close(terminal)

    assert done.returncode == 0
    assert (b"checking  100 %" in shown) is is_shown
