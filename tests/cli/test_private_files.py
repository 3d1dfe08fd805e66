"""Files of an installation are private for any umask; a folder that others can write to causes a warning."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from attestlab.attestations.minting import MintRequest
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.log.fsck_record import FsckSummary
from attestlab.mail.messages import Sender, compose
from attestlab.settings import Settings
from attestlab.witness import service as witness
from support.fork_server import run_command

AT = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes_below(folder: Path) -> dict[str, int]:
    """The mode of the folder and of everything in it, by its path."""
    return {str(path.relative_to(folder.parent)): path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")]}


@pytest.mark.usefixtures("umask")
def test_files_of_an_installation_are_private(tmp_path: Path) -> None:
    lab, made = Installation.init(Settings(data=tmp_path / "data"))
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuer = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="main")
    wanted = {"issuer_id": issuer.issuer.id, "kid": "main", "schema": "degree", "claims": {"student_name": "Ada"}}
    draft = lab.attestations.prepare(MintRequest(**wanted, expiry_at=None), caller=caller)
    lab.attestations.issue_or_raise(draft)
    letter = compose(mail_id=uuid4(), sender=Sender("", "a@a.org"), recipient="b@b.org", subject="s", text="t", at=AT)
    lab.mail_carrier.deliver(letter)
    lab.counters.block("a-client", for_s=60, now=AT)
    lab.lake.export()
    lab.fsck_record.write(FsckSummary(lab.log_id, AT, tree_size=2, problems=0))
    found = modes_below(tmp_path / "data")
    lab.close()

    kinds = {"records.db", "records.db-wal", "records.db-shm", "records.db.lock", "counters.db", "head.guard"}
    assert kinds <= {Path(name).name for name in found}
    assert any(name.endswith(".parquet") for name in found)
    folders = {name for name in found if (tmp_path / name).is_dir()}
    assert {name: oct(mode) for name, mode in found.items() if mode != (0o700 if name in folders else 0o600)} == {}


@pytest.mark.usefixtures("umask")
def test_files_of_a_witness_are_private(tmp_path: Path) -> None:
    witness.create_witness(tmp_path / "w", name="w.example/1", environ={})

    assert modes_below(tmp_path / "w") == {"w": 0o700, "w/keyring.key": 0o600, "w/witness.db": 0o600}


def test_mode_of_existing_records_is_restricted_when_opened(tmp_path: Path) -> None:
    Installation.init(Settings(data=tmp_path / "data"))[0].close()
    (tmp_path / "data" / "records.db").chmod(0o666)

    Installation.open(Settings(data=tmp_path / "data")).close()

    assert (tmp_path / "data" / "records.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("mode", "is_warned"), [(0o777, True), (0o775, True), (0o755, False)])
def test_init_warns_of_a_folder_that_other_users_can_write_to(tmp_path: Path, mode: int, is_warned: bool) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)

    done = run_command("init", "--data", str(folder))

    assert done.returncode == 0
    assert (f"chmod 700 {folder}" in done.stderr) is is_warned
