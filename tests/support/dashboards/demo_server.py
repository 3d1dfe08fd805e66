"""A served demo with a year of history: its world is built once for all test processes, and copied for each server.

A built world serves the runs of up to two hours, because its year ends when it is built, and pages show its last days.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from uuid import UUID

import attestlab
from attestlab import Lab
from attestlab.demos import served
from attestlab.demos.people import PEOPLE
from attestlab.embedded.demo_cache import copy_world
from attestlab.installation import Installation
from attestlab.orgs.rules import Role
from attestlab.orgs.service import TenantCreated
from attestlab.settings import Settings
from support.demo_caches import find_demo_caches
from support.fork_server import ForkedProcess, get_fork_server
from support.identity import add_user
from support.timeouts import WAIT_TIMEOUT_S

WORLD = "served"  # in the name of its cache, with the hour in which it is built
HOUR_S = 3_600
OWNER, ADMIN, REVIEWER = (address for address, _, _ in PEOPLE)
MEMBER = "mia@demo.example"
LEAVER = "leo@demo.example"  # whom a test removes
_BUILT = re.compile(rf"-{WORLD}-(\d+)-\w+$")


@dataclass(frozen=True)
class DemoServer:
    """A running `attestlab demo`; `made` is what it printed."""

    url: str
    made: dict[str, Any]
    process: ForkedProcess

    def connect(self) -> Lab:
        """Open the facade with the demo's API key; the caller closes it."""
        return attestlab.connect(self.url, self.made["api_key"])

    def find_dashboards(self) -> list[int]:
        """Find the processes of the dashboards that it has started."""
        return find_dashboards(self.process.pid)


@contextmanager
def serve_demo(folder: Path, *, prepare: Callable[[Path], None] = lambda data: None) -> Iterator[DemoServer]:
    """Serve a copy of the world on a free port. Before it is served, `prepare` may change the copy."""
    copy_demo(folder / "data")
    prepare(folder / "data")
    with serve_folder(folder) as server:
        yield server


@contextmanager
def serve_folder(folder: Path, *, port: int = 0) -> Iterator[DemoServer]:
    """Serve the demo in `folder / "data"` on a port; 0 takes a free one."""
    out, errors = folder / "out", folder / "errors"
    out.unlink(missing_ok=True)  # of an earlier server
    arguments = ("--port", str(port), "--data", str(folder / "data"), "--json")
    process = get_fork_server().start("attestlab", "demo", *arguments, out=out, errors=errors)
    try:
        made = _wait_for_line(process, out, errors)
        yield DemoServer(made["url"], made, process)
    finally:
        process.kill()


def copy_demo(target: Path) -> None:
    """Copy the world that all test processes share to `target`, which does not exist yet."""
    caches, hour = find_demo_caches(), int(time.time()) // HOUR_S
    built = {int(match[1]): path for path in caches.glob("*/demo-*") if (match := _BUILT.search(path.name))}
    usable = hour - 1 if hour - 1 in built else hour
    copy_world(f"{WORLD}-{usable}", target, build_world, caches=caches)
    for each in filter(lambda each: each < hour - 2, built):  # that no process can be copying
        shutil.rmtree(built[each], ignore_errors=True)


def build_world(folder: Path) -> None:
    """Create the demo as `attestlab demo` does, with a person who has few scopes, and one who leaves.

    Its records are in the lake, so that no page waits for an export. It ignores the database of the environment, as
    `attestlab demo` promises.
    """
    with TemporaryDirectory() as other, patch.dict(os.environ, ATTESTLAB_DATABASE_URL=f"sqlite:///{other}/precious.db"):
        shares: list[float] = []
        served.create_world(folder, report_progress=shares.append)
        assert shares == sorted({0.0, *shares, 1.0}), "the build shows its progress from its begin to its end"
        assert os.listdir(other) == [], "the demo opened the database of the environment"
    add_person(folder, MEMBER, name="Mia Lindt", role=Role.MEMBER)
    add_person(folder, LEAVER, name="Leo Marti", role=Role.ADMIN)
    with closing(Installation.open(Settings(data=folder, database_url=None))) as lab:
        lab.lake.export()


def add_person(folder: Path, email: str, *, name: str, role: Role) -> None:
    """Add a person with the password of the others to the demo in a folder that no server serves."""
    made = served.read_credentials(folder)
    assert made is not None
    tenant = TenantCreated(UUID(str(made["tenant_id"])), UUID(str(made["org_id"])), "", "", "")
    with closing(Installation.open(Settings(data=folder, database_url=None))) as lab:
        add_user(lab, tenant, email, str(made["people_password"]), name=name, roles=role.value)


def find_dashboards(server_pid: int) -> list[int]:
    """Find the processes of the dashboards that a server has started."""
    tasks = Path(f"/proc/{server_pid}/task")
    children = {int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()}
    return [pid for pid in children if b"attestlab_dashboards" in _read_command(pid)]


def _read_command(pid: int) -> bytes:
    """Read the command of a child, of which nothing is left once it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _wait_for_line(process: ForkedProcess, out: Path, errors: Path) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while not out.exists() or not out.read_text().endswith("\n"):
        assert process.poll() is None, errors.read_text()
        assert time.monotonic() < deadline, errors.read_text()
        time.sleep(0.02)
    found: dict[str, Any] = json.loads(out.read_text())
    return found
