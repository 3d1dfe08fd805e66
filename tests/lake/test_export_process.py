"""The export process of a server: its output, when it starts, how it fails and ends."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from attestlab.lake.export_process import NICENESS, ExportProcess
from attestlab.lake.service import PARTS_A_SWEEP
from support.lake import LakeScenario, require_complete_lake
from support.timeouts import WAIT_TIMEOUT_S


@pytest.fixture(autouse=True)
def _usual_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the process at the usual priority: at its own, it would wait for minutes on a busy machine."""
    code = "from attestlab.lake import export_process; export_process.NICENESS = 0; export_process.main()"
    monkeypatch.setattr("attestlab.lake.export_process._COMMAND", (sys.executable, "-P", "-c", code))


def _sweep(exports: ExportProcess) -> int:
    return asyncio.run(exports.sweep())


def test_process_exports_due_parts_and_runs_again_when_more_are_due(lake_scenario: LakeScenario) -> None:
    for number in range(12):
        lake_scenario.act(number)
    exports = ExportProcess(lake_scenario.lab.lake, cooldown_s=0)

    assert _sweep(exports) == PARTS_A_SWEEP
    while lake_scenario.lab.lake.sweep():
        pass
    assert _sweep(exports) == 0
    require_complete_lake(lake_scenario)

    for number in range(12):
        lake_scenario.act(number)
    assert _sweep(exports) > 0


def test_cooldown_after_an_export(lake_scenario: LakeScenario) -> None:
    for number in range(12):
        lake_scenario.act(number)
    exports = ExportProcess(lake_scenario.lab.lake)

    assert _sweep(exports) > 0
    assert _sweep(exports) == 0
    assert lake_scenario.lab.lake.sweep() > 0, "there was more to do"


def test_cooldown_after_a_failure(lake_scenario: LakeScenario) -> None:
    lake_scenario.act(0)
    lake_scenario.lab.lake.folder.write_text("no folder")
    exports = ExportProcess(lake_scenario.lab.lake)

    with pytest.raises(RuntimeError):
        _sweep(exports)
    assert _sweep(exports) == 0


def test_no_process_is_started_if_nothing_is_due(lake_scenario: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    lake_scenario.lab.lake.rows_a_part = 1_000_000
    monkeypatch.setattr("attestlab.lake.export_process._COMMAND", ("/nowhere/at/all",))

    assert _sweep(ExportProcess(lake_scenario.lab.lake)) == 0
    lake_scenario.lab.lake.rows_a_part = 1
    with pytest.raises(FileNotFoundError):
        _sweep(ExportProcess(lake_scenario.lab.lake))


def test_failed_export_is_reported_and_retried(lake_scenario: LakeScenario) -> None:
    for number in range(12):
        lake_scenario.act(number)
    folder = lake_scenario.lab.lake.folder
    folder.write_text("no folder")
    exports = ExportProcess(lake_scenario.lab.lake, cooldown_s=0)

    with pytest.raises(RuntimeError, match=r"(?s)The export ended with 1: .*(FileExistsError|NotADirectoryError)"):
        _sweep(exports)

    folder.unlink()
    assert _sweep(exports) > 0


def test_stopping_server_kills_its_export(
    lake_scenario: LakeScenario, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its own `main`, whose sweep tells its process and does not end."""
    at_work = tmp_path / "at-work"
    code = (
        "import os, signal; from pathlib import Path\n"
        "from attestlab.lake import export_process, service\n"
        "def sweep(lake):\n"
        "    Path('at-work.new').write_text(str(os.getpid()))\n"
        f"    os.rename('at-work.new', {str(at_work)!r})\n"
        "    signal.pause()\n"
        "service.Lake.sweep = sweep; export_process.NICENESS = 0; export_process.main()"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attestlab.lake.export_process._COMMAND", (sys.executable, "-P", "-c", code))
    for number in range(12):
        lake_scenario.act(number)

    async def is_killed() -> bool:
        sweeping = asyncio.create_task(ExportProcess(lake_scenario.lab.lake).sweep())
        while not at_work.exists():
            assert not sweeping.done()
            await asyncio.sleep(0.01)
        process = os.pidfd_open(int(at_work.read_text()))
        sweeping.cancel()
        await asyncio.wait([sweeping], timeout=WAIT_TIMEOUT_S)
        assert sweeping.cancelled()
        ended, _, _ = select.select([process], [], [], 0)  # it is readable then (pidfd_open(2))
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)
        await asyncio.to_thread(select.select, [process], [], [], WAIT_TIMEOUT_S)  # the loop must not end before it
        os.close(process)
        return ended != []

    assert asyncio.run(is_killed())


def test_process_has_lowest_priority(
    lake_scenario: LakeScenario, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its own `main`, and a look at what it runs at when it reads what to do."""
    code = (
        "import io, json, os, sys; from attestlab.lake import export_process\n"
        "class Piped(io.StringIO):\n"
        "    def read(self, *sizes):\n"
        f"        open({str(tmp_path / 'niceness')!r}, 'w').write(str(os.nice(0)))\n"
        "        return super().read(*sizes)\n"
        "sys.stdin = Piped(sys.stdin.read()); export_process.main()"
    )
    monkeypatch.setattr("attestlab.lake.export_process._COMMAND", (sys.executable, "-c", code))
    for number in range(12):
        lake_scenario.act(number)

    assert _sweep(ExportProcess(lake_scenario.lab.lake)) > 0
    assert int((tmp_path / "niceness").read_text()) == min(19, os.nice(0) + NICENESS)
