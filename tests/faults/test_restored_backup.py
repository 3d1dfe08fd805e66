"""A restored older backup is readable but not minted on; minting resumes with the newest records."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from attestlab.core.db.urls import database_url
from attestlab.log.head_guard import HeadGuard
from support.attestations import make_mint_body, mint
from support.databases import create_postgres_database
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer, run_command
from support.issuers import register_issuer
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.both_engines


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path, empty_database: str) -> ForkedServer:
    """An installation on either engine, not yet running."""
    return ForkedServer.founded(fork_server, tmp_path / "data", empty_database)


def backup_of(server: ForkedServer, tmp_path: Path, postgres_url: str | None) -> str:
    """The URL of a copy of the records as they are; on PostgreSQL no client may be connected to them."""
    url = database_url(server.database_url)
    if url.get_backend_name() == "sqlite":
        with sqlite3.connect(str(url.database)) as source, sqlite3.connect(tmp_path / "backup.db") as target:
            source.backup(target)
        return f"sqlite:///{tmp_path / 'backup.db'}"
    assert postgres_url is not None
    return create_postgres_database(postgres_url, template=str(url.database))


def minted(http: httpx.Client, issuer: dict[str, Any]) -> dict[str, Any]:
    answer = mint(http, make_mint_body(issuer))
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def fsck(server: ForkedServer) -> subprocess.CompletedProcess[str]:
    """`attestlab log fsck` as an operator types it."""
    return typed(server, "fsck")


def typed(server: ForkedServer, *words: str) -> subprocess.CompletedProcess[str]:
    """A command about the log, typed by an operator at no terminal."""
    return run_command("log", *words, "--data", str(server.data), "--database-url", server.database_url)


def test_a_restored_older_backup_refuses_to_mint_until_the_newest_is_back(
    server: ForkedServer, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with server.start().client() as http:
        issuer = register_issuer(http)
        kept = [minted(http, issuer) for _ in range(3)]
    server.stop()
    postgres_url = None if server.database_url.startswith("sqlite") else request.getfixturevalue("postgres_url")
    older = server.another(backup_of(server, tmp_path, postgres_url))
    with server.start().client() as http:
        newest = minted(http, issuer)
    server.stop()

    with older, older.client() as http:
        refused = mint(http, make_mint_body(issuer))
        assert refused.status_code == 503, refused.text
        assert refused.json()["code"] == "SERVICE_UNAVAILABLE"
        assert int(refused.headers["Retry-After"]) >= 1
        assert f"size {newest['log_index'] + 1} was signed" in refused.json()["message"]
        assert "Restore the newest copy" in refused.json()["message"]
        assert refused.json()["details"]["reason"] == "head_guard_mismatch"
        unready = http.get("/readyz")
        assert (unready.status_code, unready.json()["details"]["checks"]["log"]) == (503, "failed")
        assert http.get("/healthz").status_code == 200
        assert http.get(f"/v1/attestations/{kept[0]['id']}").status_code == 200
        assert http.get(f"/v1/attestations/{kept[0]['id']}/proof-bundle").status_code == 200
        assert http.get("/log/checkpoint").text == kept[-1]["checkpoint"]
        assert verdict(http, kept[0]) == "VALID"
        assert verdict(http, newest) == "NOT_FOUND"
        older.stop()
    judged = fsck(older)
    assert (judged.returncode, "head_guard" in judged.stdout) == (3, True), judged

    with server, server.client() as http:
        assert http.get("/readyz").status_code == 200
        again = minted(http, issuer)
        assert again["log_index"] == newest["log_index"] + 1
        server.stop()
    assert fsck(server).returncode == 0
    server.check()


def verdict(http: httpx.Client, attestation: dict[str, Any]) -> str:
    found: str = http.post("/v1/verify", json={"attestation_id": attestation["id"]}).json()["verdict"]
    return found


def test_server_does_not_mint_on_records_restored_under_it(fork_server: ForkServer, tmp_path: Path) -> None:
    """
    The file is exchanged while the server runs, and the guard with it: what the process itself committed, it remembers.
    """
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with server.start(), server.client() as http:
        issuer = register_issuer(http)
        minted(http, issuer)
        guard = (server.data / "head.guard").read_bytes()
        with sqlite3.connect(tmp_path / "records.db") as source, sqlite3.connect(tmp_path / "backup.db") as target:
            source.backup(target)
        minted(http, issuer)
        shutil.copyfile(server.data / "head.guard", tmp_path / "newest.guard")
        with sqlite3.connect(tmp_path / "backup.db") as source, sqlite3.connect(tmp_path / "records.db") as target:
            source.backup(target)
        (server.data / "head.guard").write_bytes(guard)

        refused = mint(http, make_mint_body(issuer))

        assert refused.status_code == 503, refused.text
        server.stop()


@pytest.fixture
def on_a_new_machine(
    fork_server: ForkServer, tmp_path: Path
) -> Iterator[tuple[ForkedServer, dict[str, Any], dict[str, Any]]]:
    """Records and key-encryption key of an older copy without `head.guard`; an issuer, and what it minted last."""
    url = f"sqlite:///{tmp_path / 'records.db'}"
    old = ForkedServer.founded(fork_server, tmp_path / "old", url)
    with old.start(), old.client() as http:
        issuer = register_issuer(http)
        kept = minted(http, issuer)
        backup_of(old, tmp_path, None)
        minted(http, issuer)
        old.stop()
    (tmp_path / "new").mkdir()
    shutil.copy(old.data / "keyring.key", tmp_path / "new")
    with ForkedServer(fork_server, tmp_path / "new", f"sqlite:///{tmp_path / 'backup.db'}", old.made).start() as server:
        yield server, issuer, kept
        server.stop()


def test_records_without_their_guard_are_read_only_until_accept_head(
    on_a_new_machine: tuple[ForkedServer, dict[str, Any], dict[str, Any]],
) -> None:
    server, issuer, kept = on_a_new_machine
    with server.client() as http:
        refused, unready = mint(http, make_mint_body(issuer)), http.get("/readyz")
        assert (refused.status_code, refused.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert "attestlab log accept-head" in refused.json()["message"]
        assert refused.json()["details"]["reason"] == "head_guard_missing"
        assert (unready.status_code, unready.json()["details"]["checks"]["head_guard"]) == (503, "failed")
        assert "attestlab log accept-head" in unready.json()["details"]["reasons"]["head_guard"]
        assert (http.get("/log/checkpoint").text, verdict(http, kept)) == (kept["checkpoint"], "VALID")
        assert fsck(server).returncode == 3

        size = kept["log_index"] + 1
        unconfirmed = typed(server, "accept-head")
        shown = http.get("/v1/log/head").json()
        other_root = typed(server, "accept-head", "--size", str(size), "--root", shown["root_hash"][::-1])
        assert (unconfirmed.returncode, other_root.returncode) == (2, 2), (unconfirmed, other_root)
        assert f"entry {kept['log_index']}" in unconfirmed.stdout
        assert mint(http, make_mint_body(issuer)).status_code == 503
        assert not (server.data / "head.guard").exists()

        accepted = typed(server, "accept-head", "--size", str(size), "--root", shown["root_hash"], "--json")
        assert (accepted.returncode, json.loads(accepted.stdout)["accepted"]) == (0, True), accepted
        assert minted(http, issuer)["log_index"] == size, "the running server signs again"
        assert http.get("/readyz").status_code == 200
    assert fsck(server).returncode == 0


def test_proven_fork_is_reported_before_and_after_the_next_mint(
    on_a_new_machine: tuple[ForkedServer, dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    """
    The old machine's guard is brought along: it remembers the entry that the copy lacks.
    """
    server, issuer, _ = on_a_new_machine
    shutil.copy(tmp_path / "old" / "head.guard", server.data)
    assert fsck(server).returncode == 3

    assert typed(server, "accept-head", "--yes").returncode == 0

    assert fsck(server).returncode == 3
    with server.client() as http:
        minted(http, issuer)
        minted(http, issuer)
    found = fsck(server)
    assert (found.returncode, found.stdout.startswith("fork ")) == (3, True), found


def test_idle_server_observes_heads_of_other_servers(fork_server: ForkServer, tmp_path: Path) -> None:
    """
    Two machines on one database have a guard each; after a restore the idle one must not mint on an older copy.
    """
    one = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with one.start(), one.client() as http:
        issuer = register_issuer(http)
        shutil.copytree(one.data, tmp_path / "idle", ignore=shutil.ignore_patterns("*.out", "*.log"))
        with ForkedServer(fork_server, tmp_path / "idle", one.database_url, one.made).start() as idle:
            newest = minted(http, issuer)
            guard = HeadGuard(idle.data / "head.guard")
            deadline = time.monotonic() + WAIT_TIMEOUT_S
            while (guard.read() or pytest.fail("no guard")).size <= newest["log_index"]:
                assert time.monotonic() < deadline, "the sweep did not move the guard"
                time.sleep(0.05)
            idle.stop()
        one.stop()
