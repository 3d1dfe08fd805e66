"""The memory of processes, and whether it is short: of the machine, or within the limit of a control group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attestlab.core.execution import process_memory
from attestlab.core.execution.process_memory import is_measurable, is_memory_short, measure_memory_bytes


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a system: /proc, and the control groups."""
    monkeypatch.setattr(process_memory, "PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(process_memory, "CONTROL_GROUPS", tmp_path / "cgroup")
    (tmp_path / "proc/self").mkdir(parents=True)
    write_machine(tmp_path, available=500)
    return tmp_path


def write_machine(system: Path, *, available: int) -> None:
    text = (
        f"MemTotal:       1000 kB\nMemFree:           3 kB\nMemAvailable:    {available} kB\nHugePages_Total:       0\n"
    )
    (system / "proc/meminfo").write_text(text)


def write_group(system: Path, path: str, *, limit: object, used: int, inactive: int = 0) -> None:
    folder = system / "cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon {used - inactive}\ninactive_file {inactive}\n")


@pytest.mark.parametrize(("available", "is_short"), [(99, True), (100, False)])
def test_memory_is_short_when_the_machine_has_under_a_tenth(system: Path, available: int, is_short: bool) -> None:
    write_machine(system, available=available)

    assert is_memory_short() is is_short


@pytest.mark.parametrize(("inactive", "is_short"), [(49, True), (50, False)])
@pytest.mark.parametrize("limited", ["service", "service/worker"])
def test_memory_is_short_when_a_group_has_under_a_tenth_of_its_limit(
    system: Path, limited: str, inactive: int, is_short: bool
) -> None:
    """Files that lie idle count as available, and the limit may be that of a group around the process's own."""
    (system / "proc/self/cgroup").write_text("4:memory:/old\n0::/service/worker\n")
    write_group(system, "service", limit="max", used=1)
    write_group(system, "service/worker", limit="max", used=1)
    write_group(system, limited, limit=1_000, used=950, inactive=inactive)

    assert is_memory_short() is is_short


def test_the_group_of_a_container_is_the_outermost_that_it_sees(system: Path) -> None:
    (system / "proc/self/cgroup").write_text("0::/\n")
    write_group(system, "", limit=1_000, used=901)

    assert is_memory_short()


def test_a_system_without_such_files_is_never_short_and_tells_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process_memory, "PROCESSES", tmp_path)
    monkeypatch.setattr(process_memory, "CONTROL_GROUPS", tmp_path)

    assert (is_memory_short(), is_measurable(), measure_memory_bytes(os.getpid())) == (False, False, 0)


def test_a_process_takes_the_pages_that_it_writes_until_it_ends() -> None:
    assert is_measurable()
    hold = "import sys; held = b'x' * (64 << 20); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        taken = measure_memory_bytes(process.pid)
    assert 64 << 20 < taken < 128 << 20
    assert measure_memory_bytes(process.pid) == 0
