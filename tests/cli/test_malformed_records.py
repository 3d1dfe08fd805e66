"""A damaged SQLite file is reported in one line on stderr or as a problem of fsck, never with a traceback."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attestlab.cli import commands
from attestlab.installation import Installation
from attestlab.settings import Settings

PAGE = 8192


def other_page(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) // PAGE) * PAGE
    content[place : place + PAGE] = chance.choice([bytes(PAGE), chance.randbytes(PAGE)])


def other_head(content: bytearray, chance: random.Random) -> None:
    content[:16] = chance.randbytes(16)


def cut_off(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def other_bytes(content: bytearray, chance: random.Random) -> None:
    for _ in range(50):
        content[chance.randrange(len(content))] = chance.randrange(256)


def other_schema(content: bytearray, chance: random.Random) -> None:
    """A byte that is no text, in the statement of a table, which SQLite then quotes in its error."""
    place = content.index(b"CREATE TABLE")
    content[place + 7] = 0x80 + chance.randrange(0x80)


@pytest.fixture(scope="module")
def installation_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed installation with a tenant in its records."""
    folder = tmp_path_factory.mktemp("whole") / "data"
    Installation.init(Settings(data=folder))[0].close()
    return folder


@pytest.mark.parametrize("damage", [other_page, other_head, cut_off, other_bytes, other_schema])
def test_a_malformed_file_of_records_is_reported_without_a_traceback(
    installation_folder: Path, tmp_path: Path, damage: Callable[[bytearray, random.Random], None]
) -> None:
    chance = random.Random(damage.__name__)
    found = set()
    for turn in range(5):
        folder = Path(shutil.copytree(installation_folder, tmp_path / str(turn)))
        content = bytearray((folder / "records.db").read_bytes())
        damage(content, chance)
        (folder / "records.db").write_bytes(content)
        for words in (("log", "fsck"), ("log", "vkey")):
            done = CliRunner().invoke(commands.app, [*words, "--data", str(folder)])
            assert isinstance(done.exception, SystemExit | None), (turn, words, done.exception)
            assert done.exit_code == 0 or done.stdout or done.stderr.startswith("attestlab: ")
            found.add((words[1], done.exit_code))
    assert found & {("fsck", 1), ("fsck", 2)}, "not one of them was noticed"
