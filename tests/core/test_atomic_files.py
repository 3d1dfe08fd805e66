"""Atomic files: drafts of killed processes are removed at the next start, those of running processes are kept."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from attestlab.core import atomic_files
from attestlab.installation import MAILDIR, Installation
from attestlab.log import export


def left_by_a_killed_process(path: Path, *, within: Path | None = None) -> Path:
    child = os.fork()
    if child == 0:
        with atomic_files.open_draft(path, within=within) as (_draft, file):
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (draft,) = (within or path.parent).glob(f".{path.name}.*")
    return draft


def test_only_drafts_of_killed_processes_are_removed_at_start(lab: Installation) -> None:
    data = lab.settings.data
    tmp = data / MAILDIR / "tmp"
    tmp.mkdir(parents=True)
    left = [left_by_a_killed_process(data / "head.guard"), left_by_a_killed_process(data / "mail", within=tmp)]
    kept = data / "keyring.key.next"
    kept.write_text("an installation that moves to another key")

    with atomic_files.open_draft(data / "keyring.key") as (draft, _file):
        Installation.open(lab.settings, clock=lab.clock).close()
        assert draft.exists()

    assert [path.exists() for path in (*left, draft, kept)] == [False, False, False, True]
    kept.unlink()


def test_only_temporary_folders_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    child = os.fork()
    if child == 0:
        with atomic_files.temporary_folder("work-") as folder:
            (folder / "half").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = tmp_path.iterdir()
    of_a_person = tmp_path / "work-of-a-person"
    of_a_person.mkdir()

    with atomic_files.temporary_folder("work-") as first, atomic_files.temporary_folder("work-") as second:
        assert set(tmp_path.iterdir()) == {of_a_person, first, second}
        assert left not in (first, second)
    assert list(tmp_path.iterdir()) == [of_a_person]


def test_killed_log_export_can_be_repeated(lab: Installation, tmp_path: Path) -> None:
    """It was refused as a folder that holds something else."""
    out = tmp_path / "out"
    (out / "tile").mkdir(parents=True)
    left = [left_by_a_killed_process(out / "checkpoint"), left_by_a_killed_process(out / "tile" / "000")]

    with lab.storage.read() as connection:
        export.export(lab.log, connection, out)

    assert (out / "checkpoint").exists()
    assert [path.exists() for path in left] == [False, False]


def test_draft_removed_by_another_process_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[Path] = []
    real = os.open

    def made_and_removed(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = real(path, flags, mode)
        if flags & os.O_EXCL and not removed:
            removed.append(path)
            atomic_files.remove_drafts(tmp_path)
        return descriptor

    monkeypatch.setattr("os.open", made_and_removed)
    with atomic_files.write_atomically(tmp_path / "state") as file:
        file.write(b"whole")

    assert removed
    assert (tmp_path / "state").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
