"""`attestlab log fsck` in several processes: the problems of a serial run, progress on a terminal, no orphans."""

from __future__ import annotations

import json
import os
import pty
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from sqlalchemy import text

from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.integrity.fsck import FsckPart, fsck, plan_parts
from attestlab.log.fsck_record import FsckSummary
from attestlab.settings import Settings
from support.fork_server import get_fork_server

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
# Each part is submitted after the one before has ended.
WHILE_SUBMITTING = """
class Waiting(checking.ProcessPoolExecutor):
    def submit(self, *given):
        submitted = super().submit(*given)
        submitted.exception()
        return submitted
checking.ProcessPoolExecutor = Waiting
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


def check(lab: Installation, *options: str, stderr: int, change: str = "") -> tuple[int, str]:
    """The exit code of the command, and what it prints."""
    arguments = ["log", "fsck", "--data", str(lab.settings.data), *options]
    with open(os.devnull) as nothing, TemporaryFile("w+") as out:
        streams = (nothing.fileno(), out.fileno(), stderr)
        code = get_fork_server().start_with(streams, "code", DIVIDED.format(change), *arguments).wait()
        out.seek(0)
        return code, out.read()


def checked(lab: Installation, *options: str, change: str = "") -> tuple[int, str, str]:
    """The same with what it writes to stderr."""
    with TemporaryFile("w+") as errors:
        code, printed = check(lab, *options, stderr=errors.fileno(), change=change)
        errors.seek(0)
        return code, printed, errors.read()


def test_attestation_parts_have_no_gap(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attestlab.integrity.fsck.ATTESTATIONS_PER_PART", 4)
    with installation.storage.read() as connection:
        divided = [part for part in plan_parts(connection) if part.name == "attestations"]

    assert len(divided) == 3
    assert [part.first for part in divided[1:]] == [part.end for part in divided[:-1]]
    assert (divided[0].first, divided[-1].end) == (None, None)
    assert FsckPart("attestations") not in divided


def test_a_sound_installation_is_clean(installation: Installation) -> None:
    assert checked(installation) == (0, "", "clean\n")
    recorded = find_recorded(installation)
    assert recorded is not None
    assert (recorded.problems, recorded.at <= installation.clock.now()) == (0, True)


def find_recorded(lab: Installation) -> FsckSummary | None:
    """The recorded check of all entries that the log has now."""
    with lab.storage.read() as connection:
        head = lab.log.head(connection)
    found = lab.fsck_record.read(origin=head.origin, tree_size=head.size)
    return found if found is not None and found.tree_size == head.size else None


def test_a_folder_that_cannot_be_written_is_checked_all_the_same(installation: Installation) -> None:
    installation.fsck_record.path.mkdir()  # as little can replace a folder as a file of a read-only disk

    code, printed, errors = checked(installation, "--json")

    assert (code, json.loads(printed)) == (0, {"clean": True, "problems": []})
    assert errors.startswith(f"The check was not recorded in {installation.fsck_record.path}: ")
    assert find_recorded(installation) is None


def test_parallel_problems_equal_serial_problems(installation: Installation) -> None:
    with installation.storage.engine.connect() as connection:
        ids = connection.execute(text("SELECT id FROM attestations ORDER BY id")).scalars().all()
        for changed in (ids[0], ids[5], ids[9]):
            connection.execute(text("UPDATE attestations SET claims = x'7b7d' WHERE id = :id"), {"id": changed})
        connection.execute(text("UPDATE audit_events SET action = 'other' WHERE seq = 3"))
        connection.commit()
    expected = [{"kind": item.kind, "where": item.where, "message": item.message} for item in fsck(installation)]

    code, printed, _ = checked(installation, "--json")

    assert code == 1
    assert json.loads(printed) == {"clean": False, "problems": expected}
    assert sum(item["kind"] == "attestation" for item in expected) == 6  # its signature, and its row
    assert any(item["kind"] == "audit" for item in expected)
    recorded = find_recorded(installation)
    assert recorded is not None
    assert recorded.problems == len(expected)


@pytest.mark.parametrize("change", ["", WHILE_SUBMITTING], ids=["later", "while parts are submitted"])
def test_killed_process_is_reported_not_taken_as_clean(installation: Installation, change: str) -> None:
    code, printed, errors = checked(installation, change=f"checking._check_in_process = killed\n{change}")

    assert (code, printed) == (2, "")
    assert errors.count("\n") == 1
    assert "A process of the check was killed" in errors
    assert find_recorded(installation) is None


@pytest.mark.parametrize(("options", "is_shown"), [((), True), (("--json",), False)], ids=["text", "json"])
def test_progress_is_shown_on_a_terminal_and_only_there(
    installation: Installation, options: tuple[str, ...], is_shown: bool
) -> None:
    terminal, its_end = pty.openpty()
    code, _ = check(installation, *options, stderr=its_end)
    os.close(its_end)
    shown = b""
    try:
        while piece := os.read(terminal, 10_000):
            shown += piece
    except OSError:  # the terminal has no other end any more
        pass
    os.close(terminal)

    assert code == 0
    assert (b"checking" in shown and b" of " in shown) is is_shown
