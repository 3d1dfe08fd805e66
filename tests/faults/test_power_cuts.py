"""Power cuts at random points: every possible state of the disk holds all acknowledged mints."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from attestlab.cli.serve import ensure_initialized
from attestlab.installation import Installation
from attestlab.log.head_guard import SLOT_BYTES, HeadGuard
from attestlab.log.merkle.hashing import EMPTY_ROOT
from attestlab.log.note.note import TreeHead
from attestlab.settings import Settings
from support.faults import mint_jobs, strace
from support.faults.checks import check_acknowledged_mints, check_disk_image
from support.faults.power_cuts import SECTOR, DiskImage, SyscallRecording
from support.fork_server import ForkServer
from support.lab_checks import require_acknowledged

MINTS = 120  # enough for SQLite to write its WAL back into the database twice on the way
IMAGES = 30  # in each half; in the soak sixteen times as many
THOROUGH_INTERVAL = 15

pytestmark = strace.needs_strace


@pytest.fixture(scope="module")
def recording(
    fork_server: ForkServer, installation: Path, tmp_path_factory: pytest.TempPathFactory
) -> SyscallRecording:
    """A run of mints with the settings that are promised, but for a WAL that is written back four times as often."""
    often, scratch = "wal_autocheckpoint=1000", tmp_path_factory.mktemp("recording")
    made = SyscallRecording.of(fork_server, "mint", str(MINTS), often, before=installation, scratch=scratch)
    written_back = [event for event in made.events if (event.kind, event.name) == ("sync", "records.db")]
    assert len(written_back) >= 2, "the WAL was never written back, so that no power cut can meet that"
    return made


@pytest.mark.parametrize("half", ["first", "second"])
def test_no_power_cut_loses_an_acknowledged_mint(
    recording: SyscallRecording, tmp_path: Path, half: str, is_long: bool
) -> None:
    count = 16 * IMAGES if is_long else IMAGES
    acknowledged = []
    for number, image in enumerate(recording.power_cuts(random.Random(half), count)):
        check_disk_image(image, tmp_path / "data", is_thorough=number % THOROUGH_INTERVAL == 0)
        acknowledged.append(len(image.acknowledged))

    assert len(acknowledged) == count
    assert acknowledged == sorted(acknowledged)
    assert acknowledged[-1] > 0


def test_power_cuts_lose_mints_without_full_synchronous(
    fork_server: ForkServer, installation: Path, tmp_path: Path
) -> None:
    """
    The control: what these images are able to show, they show.
    """
    weak = SyscallRecording.of(
        fork_server, "mint", str(MINTS), "synchronous=NORMAL", before=installation, scratch=tmp_path
    )
    lost = sum(has_lost(image, tmp_path / "image") for image in weak.power_cuts(random.Random(1), 24))
    assert lost > 12


def has_lost(image: DiskImage, folder: Path) -> bool:
    lab = Installation.open(Settings(data=image.write_to(folder)))
    try:
        require_acknowledged(lab, [(mint.id, mint.index) for mint in image.acknowledged])
    except AssertionError:
        return True
    else:
        return False
    finally:
        lab.close()
        shutil.rmtree(folder)


def test_init_interrupted_by_a_power_cut_is_completed_by_the_next(
    fork_server: ForkServer, tmp_path: Path, is_long: bool
) -> None:
    """
    Credentials that `init` printed stay valid. If it printed none, the next start creates them.
    """
    (tmp_path / "empty").mkdir()
    making = SyscallRecording.of(fork_server, "init", before=tmp_path / "empty", scratch=tmp_path)
    for image in making.power_cuts(random.Random(2), 150 if is_long else 10):
        settings = Settings(data=image.write_to(tmp_path / "image"))
        made = ensure_initialized(settings)
        assert (made is None) >= bool(image.printed), "the owner's credentials are gone"
        lab = Installation.open(settings)
        for owner in image.printed:
            assert authenticated(lab, owner["api_key"]) == owner["tenant_id"]
        check_acknowledged_mints(lab, list(mint_jobs.mint_repeatedly(lab, 1)))
        lab.close()
        shutil.rmtree(settings.data)


def authenticated(lab: Installation, api_key: str) -> str:
    """The tenant to whom a key belongs."""
    with lab.storage.read() as connection:
        return str(lab.orgs.authenticate(connection, api_key).tenant_id)


def test_torn_first_head_leaves_no_damage(tmp_path: Path) -> None:
    guard = HeadGuard(tmp_path / "head.guard")
    guard.advance(TreeHead("log.example/a", 0, EMPTY_ROOT))
    before = guard.path.read_bytes()
    guard.advance(TreeHead("log.example/a", 2, bytes(32)))
    after = guard.path.read_bytes()
    starts = range(SLOT_BYTES, 2 * SLOT_BYTES, SECTOR)
    for mask in range(1 << len(starts)):
        found = bytearray(before)
        for number, start in enumerate(starts):
            if mask >> number & 1:
                found[start : start + SECTOR] = after[start : start + SECTOR]
        guard.path.write_bytes(found)
        assert guard.damaged_slots() == []
