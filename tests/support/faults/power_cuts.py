"""Power cuts, from a recording of every write and every sync of a run.

What was synced is there afterwards. Of what was written to a file since its last sync, anything may be there:
nothing, all, the beginning, some of the writes, or some of their sectors of 512 bytes. Names in a folder are
kept in the order in which they changed, up to some point after the folder's last sync.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.faults import strace
from support.faults.mint_jobs import AcknowledgedMint
from support.fork_server import ForkServer

SECTOR = 512
CALLS = (*strace.CHANGING, "openat", "write")
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (\d+)(?:<.*>)?$", re.MULTILINE)
_HEX = re.compile(r"(?:\\x[0-9a-f]{2})+")
_QUOTED = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


@dataclass(frozen=True)
class DiskEvent:
    """One thing that happened: `kind` to the file `name`, or to the folder, whose name is empty."""

    kind: str  # write, resize, sync, create, link, remove, printed
    name: str = ""
    at: int = 0
    data: bytes = b""  # of a link, the name that was there before


@dataclass
class SimulatedFile:
    """What is surely on the disk, and what was written since."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[DiskEvent] = field(default_factory=list)

    def sync(self) -> None:
        for event in self.pending:
            _apply(self.synced, event)
        self.pending.clear()

    def after_power_cut(self, chance: random.Random) -> bytes:
        """One of the contents that may be found."""
        found = bytearray(self.synced)
        for event in _survivors(self.pending, chance):
            _apply(found, event)
        return bytes(found)


@dataclass
class DiskImage:
    """A folder as it may be found after a power cut, and the lines that the program had printed before."""

    files: dict[str, bytes]
    printed: list[dict[str, Any]]

    @property
    def acknowledged(self) -> list[AcknowledgedMint]:
        """The mints that a run had acknowledged."""
        return [AcknowledgedMint(**line) for line in self.printed]

    def write_to(self, folder: Path) -> Path:
        folder.mkdir()
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        return folder


class SimulatedDisk:
    """One folder on a disk that may lose power at any time."""

    def __init__(self, folder: Path) -> None:
        self.names = {path.name: SimulatedFile(bytearray(path.read_bytes())) for path in folder.iterdir()}
        self.synced_names = dict(self.names)
        self.pending_names: list[dict[str, SimulatedFile]] = []

    def happen(self, event: DiskEvent) -> None:
        """Let one event of the recording happen."""
        if event.kind in ("write", "resize"):
            self.names[event.name].pending.append(event)
        elif event.kind == "sync" and event.name:
            self.names[event.name].sync()
        elif event.kind == "sync":
            self.synced_names = dict(self.names)
            self.pending_names.clear()
        else:
            self._rename(event)

    def _rename(self, event: DiskEvent) -> None:
        if event.kind == "create":
            self.names[event.name] = SimulatedFile()
        elif event.kind == "link":
            self.names[event.name] = self.names[event.data.decode()]
        elif event.kind == "remove":
            del self.names[event.name]
        self.pending_names.append(dict(self.names))

    def after_power_cut(self, chance: random.Random) -> dict[str, bytes]:
        """One of the folders that may be found, by name."""
        names = chance.choice([self.synced_names, *self.pending_names])
        return {name: file.after_power_cut(chance) for name, file in names.items()}

    def as_written(self) -> dict[str, bytes]:
        """The folder as a process finds it after another was killed: every write is there, synced or not."""
        found = {name: SimulatedFile(bytearray(file.synced), list(file.pending)) for name, file in self.names.items()}
        for file in found.values():
            file.sync()
        return {name: bytes(file.synced) for name, file in found.items()}


def _apply(content: bytearray, event: DiskEvent) -> None:
    if event.kind == "resize":
        del content[event.at :]
        content.extend(bytes(event.at - len(content)))
    else:
        content.extend(bytes(max(0, event.at - len(content))))
        content[event.at : event.at + len(event.data)] = event.data


def _survivors(pending: list[DiskEvent], chance: random.Random) -> list[DiskEvent]:
    """Some of what was never synced."""
    fate = chance.choice(("none", "all", "beginning", "some", "sectors"))
    if fate == "all":
        return pending
    if fate == "beginning" and pending:
        count = chance.randrange(len(pending))
        return [*pending[:count], *_sectors(pending[count], chance, ordered=True)]
    if fate == "some":
        return [event for event in pending if chance.random() < 0.5]
    if fate == "sectors":
        return [sector for event in pending for sector in _sectors(event, chance, ordered=False)]
    return []


def _sectors(event: DiskEvent, chance: random.Random, *, ordered: bool) -> list[DiskEvent]:
    """A write that is torn: its first sectors, or any of them."""
    if event.kind != "write":
        return []
    first = SECTOR - event.at % SECTOR
    cuts = [0, *range(first, len(event.data), SECTOR), len(event.data)]
    whole = [
        DiskEvent("write", event.name, event.at + start, event.data[start:end])
        for start, end in itertools.pairwise(cuts)
    ]
    return whole[: chance.randrange(len(whole) + 1)] if ordered else [s for s in whole if chance.random() < 0.5]


@dataclass
class SyscallRecording:
    """A run of the fork server: the folder it began with, and everything that happened in it."""

    before: Path
    events: list[DiskEvent]

    @classmethod
    def of(cls, fork_server: ForkServer, job: str, *arguments: str, before: Path, scratch: Path) -> SyscallRecording:
        """Let a job run on a copy of a folder under the eyes of strace."""
        folder, log, out = scratch / "data", scratch / "strace.log", scratch / "out"
        shutil.copytree(before, folder)
        process = fork_server.start(job, str(folder), *arguments, out=out, errors=scratch / "errors", is_traced=True)
        with strace.attach(process.pid, *strace.recording_options(log, CALLS), "-xx", "-s", "65536"):
            assert process.wait() == 0, (scratch / "errors").read_text()
        events = list(_events(log.read_text(), folder, out, {path.name for path in before.iterdir()}))
        log.unlink()
        return cls(before, events)

    def power_cuts(self, chance: random.Random, count: int) -> Iterator[DiskImage]:
        """Images of as many power cuts, in the order of time."""
        disk, printed = SimulatedDisk(self.before), list[dict[str, Any]]()
        moments = sorted(chance.randrange(len(self.events) + 1) for _ in range(count))
        for number, event in enumerate([*self.events, None]):
            while moments and moments[0] == number:
                del moments[0]
                yield DiskImage(disk.after_power_cut(chance), list(printed))
            if event is not None:
                _happen(event, disk, printed)

    def kills(self, numbers: Collection[int]) -> Iterator[DiskImage]:
        """What is found when the process is killed before the calls of these numbers, counted from 1."""
        disk, printed = SimulatedDisk(self.before), list[dict[str, Any]]()
        for number, event in enumerate(self.events, 1):
            if number in numbers:
                yield DiskImage(disk.as_written(), list(printed))
            _happen(event, disk, printed)


def _happen(event: DiskEvent, disk: SimulatedDisk, printed: list[dict[str, Any]]) -> None:
    if event.kind == "printed":
        printed.append(json.loads(event.data))
    else:
        disk.happen(event)


def _events(log: str, folder: Path, out: Path, names: set[str]) -> Iterator[DiskEvent]:
    """The recording, read back; SQLite's index of the WAL is left out, SQLite makes it again after a crash."""
    ends: Counter[str] = Counter()
    for call, arguments, _result in _CALL.findall(log):
        paths = [_plain(path) for path in re.findall(r'[<"]((?:\\x[0-9a-f]{2})+)[>"]', arguments)]
        inside = [Path(path) for path in paths if path.startswith(str(folder))]
        if call == "write" and paths[:1] == [str(out)]:
            yield DiskEvent("printed", data=_data(arguments))
        elif inside and not inside[-1].name.endswith("-shm"):
            yield from _event(call, arguments, ["" if path == folder else path.name for path in inside], names, ends)


def _event(call: str, arguments: str, paths: list[str], names: set[str], ends: Counter[str]) -> Iterator[DiskEvent]:
    """What one call did; `ends` are those of the files that are written from beginning to end."""
    name = paths[-1]
    numbers = [int(number) for number in re.findall(r", (\d+)", arguments)]
    if call == "pwrite64":
        yield DiskEvent("write", name, numbers[-1], _data(arguments))
    elif call == "write":
        yield DiskEvent("write", name, ends[name], _data(arguments))
        ends[name] += numbers[-1]
    elif call == "ftruncate":
        yield DiskEvent("resize", name, numbers[-1])
    elif call in ("fdatasync", "fsync"):
        yield DiskEvent("sync", name)
    elif call == "link":
        names.add(name)
        yield DiskEvent("link", name, data=paths[0].encode())
    elif call == "unlink":
        names.discard(name)
        yield DiskEvent("remove", name)
    elif call == "openat" and "O_CREAT" in arguments and name not in names:
        names.add(name)
        yield DiskEvent("create", name)
    else:
        assert call == "openat", f"a {call} of {paths} is more than this disk can do"


def _plain(text: str) -> str:
    return bytes.fromhex(text.replace("\\x", "")).decode(errors="replace")


def _data(arguments: str) -> bytes:
    found = _QUOTED.search(arguments)
    return bytes.fromhex(found[1].replace("\\x", "")) if found else b""
