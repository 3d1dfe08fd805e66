"""Verification, bundles, the log and the public page work while writes fail; no count is lost."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from attestlab.attestations.minting import MintRequest
from attestlab.attestations.results import Minted
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.group_commit.loop import LoopGroupCommit
from attestlab.installation import Installation
from attestlab.orgs import usage
from attestlab.orgs.rules import Caller, Plan
from attestlab.server.write_queue import PROBE_INTERVAL_S, WriteQueue
from support.attestations import mint
from support.disks import SmallDisk
from support.faults import strace
from support.faults.minting_clients import NO_TLS_CONTEXT
from support.faults.readers import AttestationReader, checks, require_writes_reported
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import make_client, serve_in_thread, wait_until
from support.policies.activation import create_active_policy
from support.policies.documents import make_condition, make_document, make_rule

DENY_SUSPENDED = make_document(
    make_rule("suspended", "DENY", make_condition("status", "eq", "SUSPENDED")),
    category="VERIFY",
    default_effect="ALLOW",
)


@contextmanager
def serving(fork_server: ForkServer, data: Path) -> Iterator[ForkedServer]:
    """A real server whose records, counters, head guard and log file are all in `data`."""
    with ForkedServer.founded(fork_server, data, f"sqlite:///{data / 'records.db'}").start() as running:
        yield running
        running.stop()
        running.check()


def used(data: Path) -> int:
    """The verifications that the records have counted."""
    with sqlite3.connect(data / "records.db") as records:
        query = "SELECT coalesce(sum(used), 0) FROM usage_days WHERE metric = ?"
        found: int = records.execute(query, (usage.VERIFICATIONS,)).fetchone()[0]
    records.close()
    return found


def test_verify_answers_valid_while_the_disk_of_the_data_folder_is_full(
    fork_server: ForkServer, disk: SmallDisk
) -> None:
    """Records, counters and the server's own log are on it; verifications during the failure are counted after it."""
    data = disk.folder / "data"
    with serving(fork_server, data) as server, server.client(verify=NO_TLS_CONTEXT) as http:
        known = AttestationReader(http)
        with disk.full():
            time.sleep(PROBE_INTERVAL_S)
            assert checks(http)["writes"] == "failed", "the probe itself writes: no other write has failed yet"
            for _ in range(3):
                refused = mint(http, known.mint_body)
                assert (refused.status_code, refused.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
                known.reads_all()
            assert used(data) == 0
        require_writes_reported(http, "ok")
        wait_until(lambda: used(data), known.verified)
        assert mint(http, known.mint_body).status_code == 201


@pytest.mark.parametrize("begin", [pytest.param("BEGIN IMMEDIATE", marks=pytest.mark.soak), "BEGIN EXCLUSIVE"])
def test_reads_continue_while_a_backup_locks_the_records(fork_server: ForkServer, tmp_path: Path, begin: str) -> None:
    """The counters are locked too, as by a tool that backs up every database of the folder."""
    data = tmp_path / "data"
    with serving(fork_server, data) as server, server.client(verify=NO_TLS_CONTEXT) as http:
        known = AttestationReader(http)
        hogs = [sqlite3.connect(data / name, isolation_level=None) for name in ("records.db", "counters.db")]
        for hog in hogs:
            hog.execute(begin)
        for _ in range(3):
            known.reads_all()
        require_writes_reported(http, "failed")
        for hog in hogs:
            hog.execute("ROLLBACK")
            hog.close()
        require_writes_reported(http, "ok")
        wait_until(lambda: used(data), known.verified)


@strace.needs_strace
def test_failed_commits_are_counted_and_logged_at_most_once_a_second(fork_server: ForkServer, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(fork_server, data) as server, server.client(verify=NO_TLS_CONTEXT) as http:
        known = AttestationReader(http)
        assert server.process is not None
        with strace.attach(server.process.pid, *strace.injection_options("fdatasync", "1+", "error=EIO")):
            began = time.monotonic()
            statuses = [mint(http, known.mint_body).status_code for _ in range(30)]
            took_s = time.monotonic() - began
            require_writes_reported(http, "failed")
        require_writes_reported(http, "ok")

        lines = [line for line in map(json.loads, server.errors().splitlines()) if line["event"] == "commit failed"]
        counted = sum(
            float(line.split()[-1])
            for line in http.get("/metrics").text.splitlines()
            if line.startswith("attestlab_commits_failed_total{")
        )
    assert statuses == [503] * 30
    assert counted >= 30
    assert 1 <= len(lines) <= took_s + 10, "one a second, while `/readyz` was asked too"
    assert {line["cause"] for line in lines} == {"SQLITE_IOERR_FSYNC"}
    assert counted >= len(lines) + sum(line["omitted"] for line in lines)


@strace.needs_strace
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_reads_continue_while_every_commit_fails(fork_server: ForkServer, tmp_path: Path, error: str) -> None:
    """The disk takes what is written and refuses to sync it; a commit that failed is counted once when it is well."""
    data = tmp_path / "data"
    with serving(fork_server, data) as server, server.client(verify=NO_TLS_CONTEXT) as http:
        known = AttestationReader(http)
        assert server.process is not None
        with strace.attach(server.process.pid, *strace.injection_options("fdatasync", "1+", f"error={error}")):
            for _ in range(3):
                known.reads_all()
            require_writes_reported(http, "failed")
            known.reads_all()
        require_writes_reported(http, "ok")
        wait_until(lambda: used(data), known.verified)


def test_reads_continue_without_the_writer(lab: Installation, caller: Caller) -> None:
    """Its thread has ended. A verification whose policy decision cannot be kept is refused, and costs no unit."""
    lab.orgs.set_plan(caller.tenant_id, Plan.ENTERPRISE, {"verifications_per_day": 1})
    plain, judged = (minted_by(lab, caller, name) for name in ("Plain", "Judged"))
    create_active_policy(
        lab, caller, {**DENY_SUSPENDED, "target_type": "ISSUER", "target_id": str(judged.row.issuer_id)}
    )

    def end_thread(desk: WriteQueue) -> None:
        assert isinstance(desk._writer, LoopGroupCommit)
        desk._writer._thread.shutdown()

    with serve_in_thread(lab, spoil=end_thread) as url, make_client(url) as http:
        kept = [http.post("/v1/verify", json={"attestation_id": str(judged.id)}).status_code for _ in range(2)]
        assert verdict_of(http, str(plain.id)) == "VALID"
        beyond = http.post("/v1/verify", json={"attestation_id": str(plain.id)})
        require_writes_reported(http, "failed")
        assert http.get(f"/a/{plain.id}").status_code == 200

    assert min(kept) >= 500
    assert beyond.status_code != 200, "the day had one"


def minted_by(lab: Installation, caller: Caller, name: str) -> Minted:
    made = lab.issuers.create({"name": name, "domain": "x.example"}, caller=caller, alg=Algorithm.ED25519)
    request = MintRequest(
        issuer_id=made.issuer.id, kid=made.keys[0].kid, schema="degree", claims={"student_name": "Ada"}
    )
    return lab.attestations.mint(request, caller=caller)


def test_a_crash_loses_counts_and_no_answer(fork_server: ForkServer, tmp_path: Path) -> None:
    """What is lost is missing from usage, tallies and events alike, so that fsck finds nothing."""
    data = tmp_path / "data"
    with serving(fork_server, data) as server, server.client(verify=NO_TLS_CONTEXT) as http:
        known = AttestationReader(http)
        for _ in range(5):
            known.reads_all()
        server.kill()
        counted = used(data)
        server.check()
        assert 0 <= counted <= known.verified
        server.start()
        with server.client(verify=NO_TLS_CONTEXT) as again:
            assert verdict_of(again, known.minted["id"]) == "VALID"
            wait_until(lambda: used(data), counted + 1)


def test_stopping_a_server_writes_what_is_pending(fork_server: ForkServer, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(fork_server, data) as server, server.client(verify=NO_TLS_CONTEXT) as http:
        known = AttestationReader(http)
        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(lambda _: verdict_of(http, known.minted["id"]), range(40)))
        server.stop()
        assert statuses == ["VALID"] * 40
        assert used(data) == 40


def verdict_of(http: httpx.Client, attestation_id: str) -> str:
    found: str = http.post("/v1/verify", json={"attestation_id": attestation_id}).json()["verdict"]
    return found
