"""PostgreSQL's disk is full: logged data is still served and verified, and `/readyz` reports the failure."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from support.attestations import mint
from support.databases import execute_as_administrator
from support.disks import SmallDisk
from support.faults.minting_clients import NO_TLS_CONTEXT
from support.faults.readers import AttestationReader, require_writes_reported
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer

pytestmark = [pytest.mark.soak, pytest.mark.on_postgresql]
NAME = "attestlab_small"


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    """A small disk that the user of PostgreSQL can reach."""
    with tempfile.TemporaryDirectory() as folder, SmallDisk.mounted(Path(folder) / "small") as mounted:
        Path(folder).chmod(0o755)
        yield mounted


@pytest.fixture
def records(disk: SmallDisk, postgres_url: str) -> Iterator[str]:
    """Returns the URL of a database whose tables are on the small disk."""
    space = disk.folder / "tables"
    space.mkdir(mode=0o700)
    owner = os.stat(parse_qs(urlsplit(postgres_url).query)["host"][0])
    for place in (disk.folder, space):
        os.chown(place, owner.st_uid, owner.st_gid)
    with ExitStack() as stack:
        execute_as_administrator(postgres_url, f"CREATE TABLESPACE {NAME} LOCATION '{space}'")
        stack.callback(execute_as_administrator, postgres_url, f"DROP TABLESPACE {NAME}")
        execute_as_administrator(postgres_url, f"CREATE DATABASE {NAME} TABLESPACE {NAME} STRATEGY FILE_COPY")
        stack.callback(execute_as_administrator, postgres_url, f"DROP DATABASE {NAME} WITH (FORCE)")
        yield postgres_url.replace("/postgres?", f"/{NAME}?")


def test_verify_and_the_log_answer_while_the_disk_is_full(
    fork_server: ForkServer, tmp_path: Path, records: str, disk: SmallDisk
) -> None:
    one = ForkedServer.founded(fork_server, tmp_path / "data", records)
    other = one.another()
    with one, other, one.client(verify=NO_TLS_CONTEXT) as here, other.client(verify=NO_TLS_CONTEXT) as there:
        known = AttestationReader(here)
        with disk.full():
            for known.http in (here, there):
                require_writes_reported(known.http, "failed")
                known.reads_all()
        for http in (here, there):
            require_writes_reported(http, "ok")
            assert mint(http, known.mint_body).status_code == 201
        one.stop()
        other.stop()
    one.check()
