"""Atomic writes: a file is synced before it gets its name, and its folder is synced after."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attestlab.core.crypto.keyring import FILE_NAME, NEXT_FILE_NAME
from support.faults import strace
from support.faults.durable_writes import WRITERS
from support.fork_server import ForkServer

pytestmark = strace.needs_strace

WRITE = "from support.faults.durable_writes import write_all; write_all({!r})"
CALLS = ("write", "fsync", "rename", "link")


@pytest.fixture(scope="module")
def calls(fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The calls of a process that writes every file once, each with its arguments."""
    folder = tmp_path_factory.mktemp("written")
    log = folder / "calls"
    printed = folder / "printed"
    process = fork_server.start("code", WRITE.format(str(folder)), out=printed, errors=printed, is_traced=True)
    with strace.attach(process.pid, *strace.recording_options(log, CALLS)):
        assert process.wait() == 0, printed.read_text()
    lines = re.findall(r"^\d+ +(\w+)\((.*)", log.read_text().replace(f"{folder}/", ""), re.MULTILINE)
    return [(call, arguments) for call, arguments in lines]


def steps(calls: list[tuple[str, str]], name: str) -> list[tuple[str, list[str]]]:
    """The calls in the folder of one writer, each with its paths."""
    found = [(call, re.findall(rf'[<"]({name}(?:/[^>"]*)?)[>"]', arguments)) for call, arguments in calls]
    return [(call, paths) for call, paths in found if paths]


@pytest.mark.parametrize("name", WRITERS)
def test_file_is_synced_before_its_name_and_its_folder_after(calls: list[tuple[str, str]], name: str) -> None:
    made = steps(calls, name)[:4]
    draft, target = made[2][1]

    assert made == [
        ("write", [draft]),
        ("fsync", [draft]),
        (made[2][0], [draft, target]),
        ("fsync", [str(Path(target).parent)]),
    ]


def test_activated_keyring_is_synced_by_its_folder(calls: list[tuple[str, str]]) -> None:
    folder = "next_keyring"

    assert steps(calls, folder)[4:] == [
        ("rename", [f"{folder}/{NEXT_FILE_NAME}", f"{folder}/{FILE_NAME}"]),
        ("fsync", [folder]),
    ]
