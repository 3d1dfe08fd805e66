"""The tests' worlds: one build for each state of the sources, and the newest two are kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.demo_caches import MAX_FOLDERS, ROOT, SOURCES, find_demo_caches, fingerprint_sources, hold, remove_old


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A small checkout."""
    for name in SOURCES:
        file = tmp_path / name / "module.py" if name == "attestlab" else tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1")
    return tmp_path


@pytest.mark.parametrize("name", ["attestlab/module.py", "attestlab/part/new.py", *SOURCES[1:]])
def test_another_source_is_another_folder(sources: Path, name: str) -> None:
    before = fingerprint_sources(sources)
    (sources / name).parent.mkdir(exist_ok=True)
    (sources / name).write_text("2")

    assert fingerprint_sources(sources) != before


def test_what_python_writes_next_to_the_sources_is_none(sources: Path) -> None:
    before = fingerprint_sources(sources)
    (sources / "attestlab/__pycache__").mkdir()
    (sources / "attestlab/__pycache__/module.pyc").write_text("2")

    assert fingerprint_sources(sources) == before


def test_the_sources_of_this_checkout_are_there() -> None:
    assert [name for name in SOURCES if not (ROOT / name).exists()] == []


def make_folders(home: Path) -> list[Path]:
    """Folders with a world each, from the oldest to the newest."""
    folders = [home / str(number) for number in range(MAX_FOLDERS + 2)]
    for age, folder in enumerate(reversed(folders)):
        (folder / "attestlab/world").mkdir(parents=True)
        os.utime(folder, (10_000 - age, 10_000 - age))
    return folders


def test_the_newest_folders_and_those_in_use_are_kept(tmp_path: Path) -> None:
    oldest, *_, newest_but_one, newest = make_folders(tmp_path)
    held = hold(oldest)
    remove_old(tmp_path)
    assert sorted(tmp_path.iterdir()) == [oldest, newest_but_one, newest]
    assert (oldest / "attestlab/world").is_dir()

    os.close(held)
    remove_old(tmp_path)
    assert sorted(tmp_path.iterdir()) == [newest_but_one, newest]


def test_what_a_killed_remover_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "removed-1/attestlab").mkdir(parents=True)

    remove_old(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_process_is_there_and_held() -> None:
    folder = find_demo_caches()
    remove_old(folder.parent)

    assert folder.is_dir()
    assert folder == find_demo_caches()
