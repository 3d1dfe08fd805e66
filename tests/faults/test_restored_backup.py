"""A restored older backup is read, and never minted upon; the newest records are minted upon again."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from faults.nursery import Nursery
from faults.servers import QuickServer, new_postgres_database
from running_server import COMMAND, mint, mint_body, register_issuer

from attestlab.core.storage import database_url


@pytest.fixture
def server(nursery: Nursery, tmp_path: Path, empty_database: str) -> QuickServer:
    """An installation on either engine, not yet running."""
    return QuickServer.founded(nursery, tmp_path / "data", empty_database)


def backup_of(server: QuickServer, tmp_path: Path, postgres_url: str | None) -> str:
    """The URL of a copy of the records as they are; on PostgreSQL nobody may be connected to them."""
    url = database_url(server.database_url)
    if url.get_backend_name() == "sqlite":
        with sqlite3.connect(str(url.database)) as source, sqlite3.connect(tmp_path / "backup.db") as target:
            source.backup(target)
        return f"sqlite:///{tmp_path / 'backup.db'}"
    assert postgres_url is not None
    return new_postgres_database(postgres_url, template=str(url.database))


def minted(http: httpx.Client, issuer: dict[str, Any]) -> dict[str, Any]:
    answer = mint(http, mint_body(issuer))
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def fsck(server: QuickServer) -> subprocess.CompletedProcess[str]:
    """`attestlab log fsck` as an operator types it."""
    command = [*COMMAND, "log", "fsck", "--data", str(server.data), "--database-url", server.database_url]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_restored_older_backup_refuses_to_mint_until_the_newest_is_back(
    server: QuickServer, tmp_path: Path, request: pytest.FixtureRequest
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
        refused = mint(http, mint_body(issuer))
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


def test_records_put_back_under_a_running_server_are_not_minted_upon(nursery: Nursery, tmp_path: Path) -> None:
    """
    The file is exchanged while the server runs, and the guard with it: what the process itself committed, it remembers.
    """
    server = QuickServer.founded(nursery, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
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

        refused = mint(http, mint_body(issuer))

        assert refused.status_code == 503, refused.text
        server.stop()
