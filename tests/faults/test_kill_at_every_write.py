"""A process killed at any of its writes and syncs has lost nothing that it acknowledged."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

from attestlab.installation import Installation
from attestlab.settings import Settings
from support.faults import mint_jobs, strace
from support.faults.checks import check_acknowledged_mints, check_disk_image
from support.faults.mint_jobs import AcknowledgedMint
from support.faults.power_cuts import SyscallRecording
from support.fork_server import ForkServer

MINTS = 30
KILLS = 4  # of each kind of call, the first and the last with them; all of them in the full form
IMAGES = 50
THOROUGH_INTERVAL = 40
PARTS = {"short": 2, "long": 8}  # of each form; a part takes at most a minute

pytestmark = strace.needs_strace


@pytest.fixture(scope="module")
def calls(fork_server: ForkServer, installation: Path, tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """How often an undisturbed run makes each call that changes what is stored."""
    folder = shutil.copytree(installation, tmp_path_factory.mktemp("clean") / "data")
    log = folder.parent / "strace.log"
    code, acknowledged = run(fork_server, folder, strace.recording_options(log))
    assert (code, len(acknowledged)) == (0, MINTS)
    return strace.count_calls(log, folder)


def run(fork_server: ForkServer, folder: Path, options: list[str]) -> tuple[int, list[AcknowledgedMint]]:
    """A traced run of mints; its exit code, and what it acknowledged until then."""
    out = folder.parent / f"{folder.name}.out"
    process = fork_server.start("mint", str(folder), str(MINTS), out=out, errors=out, is_traced=True)
    with strace.attach(process.pid, *options):
        code = process.wait()
    return code, AcknowledgedMint.read(out.read_text())


def kill_at(fork_server: ForkServer, installation: Path, folder: Path, call: str, number: int) -> None:
    """One run that is killed as it makes the call of that number; then the log continues from what is stored."""
    shutil.copytree(installation, folder)
    code, acknowledged = run(fork_server, folder, strace.injection_options(call, number, "signal=SIGKILL"))
    assert code == -signal.SIGKILL, "the run did not come to this call"
    lab = Installation.open(Settings(data=folder))
    acknowledged += mint_jobs.mint_repeatedly(lab, 1)
    check_acknowledged_mints(lab, acknowledged)
    lab.close()
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("form", "part"),
    [
        pytest.param(form, part, id=f"{form}-{part}", marks=[pytest.mark.soak] if form == "long" else [])
        for form, parts in PARTS.items()
        for part in range(parts)
    ],
)
def test_kill_at_any_write_or_sync_loses_nothing(
    fork_server: ForkServer, installation: Path, calls: Counter[str], tmp_path: Path, form: str, part: int
) -> None:
    assert calls["fdatasync"] >= 2 * MINTS, "each mint is two syncs: the records' and the head guard's"
    for call, count in calls.items():
        for number in spread(count, at_most=KILLS if form == "short" else count)[part :: PARTS[form]]:
            kill_at(fork_server, installation, tmp_path / f"{call}-{number}", call, number)


def spread(count: int, *, at_most: int) -> list[int]:
    """Numbers from 1 to `count`, evenly spaced, the first and the last among them."""
    few = min(count, at_most)
    return sorted({1 + place * (count - 1) // max(few - 1, 1) for place in range(few)})


def test_disk_holds_acknowledged_mints_after_every_write(
    fork_server: ForkServer, installation: Path, tmp_path: Path, is_long: bool
) -> None:
    """
    The same without the killing: a process finds what another wrote until it was killed.
    """
    made = SyscallRecording.of(fork_server, "mint", str(MINTS), before=installation, scratch=tmp_path)
    assert len(made.events) > 10 * MINTS, "a mint is many writes"
    looked_at = set(spread(len(made.events), at_most=len(made.events) if is_long else IMAGES))
    for number, image in enumerate(made.kills(looked_at)):
        check_disk_image(image, tmp_path / "image", is_thorough=number % THOROUGH_INTERVAL == 0)
