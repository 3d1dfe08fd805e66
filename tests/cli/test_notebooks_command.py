"""`attestlab notebooks`: copies of this version's notebooks, and no change of anything that its user changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from attestlab.cli.notebooks import copy_notebooks
from support.file_sizes import limit_file_size
from support.fork_server import run_command

HOME = Path(__file__).parents[2] / "notebooks"
NAMES = sorted(book.name for book in HOME.glob("*.ipynb"))


def read_all(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_notebooks_are_copied_and_may_be_copied_again(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "books"

    done = run_command("notebooks", str(folder))

    assert (done.returncode, done.stderr) == (0, f"Open them: jupyter lab {folder}\n")
    assert read_all(folder) == {name: (HOME / name).read_bytes() for name in NAMES}
    assert run_command("notebooks", str(folder)).returncode == 0, "what was not changed may be copied again"


def test_a_changed_notebook_stays_and_nothing_is_copied(tmp_path: Path) -> None:
    for name, text in (("04_issuer_governance.ipynb", "mine"), ("05_agents.ipynb", "mine too"), ("notes.txt", "")):
        (tmp_path / name).write_text(text)
    before = read_all(tmp_path)

    done = run_command("notebooks", str(tmp_path))

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert ": 04_issuer_governance.ipynb, 05_agents.ipynb. Rename them, or name another folder." in done.stderr
    assert read_all(tmp_path) == before


def test_a_full_disk_leaves_whole_copies_which_the_next_run_completes(tmp_path: Path) -> None:
    sizes = sorted((HOME / name).stat().st_size for name in NAMES)
    with limit_file_size(sizes[len(sizes) // 2]), pytest.raises(OSError, match="File too large"):
        copy_notebooks(tmp_path)
    copied = read_all(tmp_path)
    copy_notebooks(tmp_path)

    assert copied == {name: (HOME / name).read_bytes() for name in copied}
    assert 0 < len(copied) < len(NAMES)
    assert sorted(read_all(tmp_path)) == NAMES


def test_a_file_is_no_folder_for_notebooks(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")

    done = run_command("notebooks", str(tmp_path / "file"))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"attestlab: {tmp_path / 'file'} is a file. Name a folder for the notebooks.\n"
