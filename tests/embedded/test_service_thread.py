"""The service in this process: in a running event loop, with streams, on interrupts, and when it closes."""

from __future__ import annotations

import asyncio
import csv
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

import attestlab
from attestlab.agents import lifecycle
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError
from attestlab.embedded import service_thread
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.server import long_write_jobs, outcome_settler
from attestlab.settings import Settings
from support.in_process_server import wait_until
from support.installations import install
from support.lab_checks import check_lab
from support.timeouts import WAIT_TIMEOUT_S

CLAIMS = {"student_name": "Ada Lovelace", "institution": "London"}
BEGUN = "long-write.begun"
SIGNAL = {"source": "a", "signal_type": "b", "score": 1, "entity_type": "ip", "entity_id": "::1"}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of an installation, which is verified from outside at the end."""
    data = tmp_path / "lab"
    data.mkdir()
    install(data, f"sqlite:///{data / 'records.db'}")
    yield data
    installation = Installation.open(Settings(data=data, database_url=None))
    check_lab(installation)
    installation.close()


def mint_one(lab: Lab) -> object:
    return lab.mint(b"x", issuer=lab.issuers.create("Registrar", "registrar.example"), schema="degree", claims=CLAIMS)


def count_tallies(folder: Path) -> int:
    """How many tallies of metered verifications the records of an installation have."""
    installation = Installation.open(Settings(data=folder, database_url=None))
    try:
        with installation.storage.read() as connection:
            return int(connection.exec_driver_sql("SELECT count(*) FROM verification_tallies").scalar_one())
    finally:
        installation.close()


def test_verbs_work_while_an_event_loop_runs_in_the_thread_that_calls(folder: Path) -> None:
    async def use_in_notebook() -> str:
        with attestlab.open(folder) as lab:
            mint_one(lab)
            return lab.attestations[0].verify(file=b"x").verdict.value

    assert asyncio.run(use_in_notebook()) == "VALID"


def test_a_lab_that_closes_during_a_long_write_undoes_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "MAX_ROWS_INSIDE", 0)
    monkeypatch.setattr(long_write_jobs, "perform", _perform_without_end)
    monkeypatch.setattr(service_thread, "LONG_WRITE_STOP_TIMEOUT_S", 0.1)
    before = list_service_threads()
    with ThreadPoolExecutor(1) as pool:
        lab = attestlab.open(folder)
        root = lab.agents.register("Root", scopes=["docs:*"])
        root.delegate({"display_name": "Worker"}, ["docs:read"])
        killed = pool.submit(root.kill, "it probes")
        wait_until((folder / BEGUN).exists, True)
        lab.close()

        assert isinstance(killed.exception(WAIT_TIMEOUT_S), AttestLabError)
    assert list_service_threads() <= before
    with attestlab.open(folder) as again:
        assert [agent.status for agent in again.agents] == ["active"] * 2


def _perform_without_end(settings: Settings, _call: object) -> None:
    """Begin a long write that never ends."""
    (settings.data / BEGUN).touch()
    Event().wait()


def list_service_threads() -> set[threading.Thread]:
    """List the threads that serve a lab, those of labs that other tests share included."""
    return {each for each in threading.enumerate() if each.name == "attestlab-service"}


def test_many_threads_may_use_one_lab(folder: Path) -> None:
    with attestlab.open(folder) as lab:
        issuer = lab.issuers.create("Registrar", "registrar.example")
        mints = [
            threading.Thread(target=lambda: lab.mint(issuer=issuer, schema="degree", claims=CLAIMS)) for _ in range(8)
        ]
        for each in mints:
            each.start()
        for each in mints:
            each.join(WAIT_TIMEOUT_S)

        assert len(list(lab.attestations)) == 8


def test_a_streamed_response_arrives_in_pieces(folder: Path) -> None:
    with attestlab.open(folder) as lab:
        assert lab.signals.add_many([SIGNAL] * 12_000, backfill=True).accepted == 12_000
        with lab._client.stream("GET", "/v1/risk/signals/export", accept="*/*", parameters={"format": "csv"}) as pieces:
            parts = list(pieces)

    assert len(parts) > 1
    assert len(list(csv.reader(b"".join(parts).decode().splitlines()))) == 12_001


def test_a_stream_that_is_left_early_ends(folder: Path) -> None:
    with attestlab.open(folder) as lab:
        lab.signals.add_many([SIGNAL] * 12_000, backfill=True)
        with lab._client.stream("GET", "/v1/risk/signals/export", accept="*/*", parameters={"format": "csv"}) as pieces:
            next(pieces)

        assert lab.me().plan == "ENTERPRISE"


def test_a_verification_is_metered_when_the_lab_is_closed(folder: Path) -> None:
    with attestlab.open(folder) as lab:
        mint_one(lab)
        lab.attestations[0].verify()

    assert count_tallies(folder) > 0


def test_closing_ends_the_thread_and_may_be_repeated(folder: Path) -> None:
    before = list_service_threads()
    lab = attestlab.open(folder)
    lab.close()
    lab.close()

    assert list_service_threads() <= before
    with pytest.raises(AttestLabError, match="This lab is closed"):
        lab.me()


def test_a_lab_for_another_tenant_is_closed_by_the_lab_that_it_came_from(folder: Path) -> None:
    with attestlab.open(folder) as lab:
        with lab.as_("Operator") as other:
            assert other.me().tenant_name == "Operator"
        assert lab.me().tenant_name == "Operator"

    with pytest.raises(AttestLabError, match="This lab is closed"):
        other.me()


def test_a_person_signs_in_with_address_and_password(tmp_path: Path) -> None:
    data = tmp_path / "lab"
    data.mkdir()
    made = install(data, f"sqlite:///{data / 'records.db'}")
    with attestlab.open(data) as lab:
        person = lab.as_(made["owner_email"], password=made["owner_password"])

        assert (person.me().email, person.me().credential.type) == (made["owner_email"], "jwt")


def test_the_caps_of_a_plan_hold_in_process_though_no_rate_does(folder: Path) -> None:
    with attestlab.open(folder) as lab:
        installation = lab._door.installation  # type: ignore[attr-defined]
        installation.orgs.create_tenant("Small", plan=Plan.FREE)
        small = lab.as_("Small")
        assert small.me().plan == "FREE"
        assert len([small.log.head() for _ in range(200)]) == 200  # FREE allows 60 requests a minute
        with pytest.raises(AttestLabError) as caught:
            for number in range(10):
                small.issuers.create(f"Issuer {number}", "issuer.example")

    assert caught.value.code == "QUOTA_EXCEEDED"


INTERRUPTED = """
import attestlab, sys, threading
lab = attestlab.open(sys.argv[1])
lab.signals.add("a", "b", 1, "ip", "::1")
is_interrupted = threading.Event()

def hold_write(tx):
    if not is_interrupted.is_set():
        print("writing", flush=True)
        is_interrupted.wait()

lab._door.installation.storage.sequence_hooks.append(hold_write)
try:
    lab.signals.add("a", "b", 1, "ip", "::1")
except KeyboardInterrupt:
    is_interrupted.set()
    print(lab.me().plan, len(list(lab.signals)) > 0, flush=True)
lab.close()
print("closed", flush=True)
"""


def test_an_interrupt_stops_a_call_and_leaves_the_lab_usable(folder: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, folder], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    os.kill(process.pid, signal.SIGINT)
    try:
        out, _ = process.communicate(timeout=WAIT_TIMEOUT_S)
    finally:
        process.kill()

    assert (process.returncode, out) == (0, "ENTERPRISE True\nclosed\n")


def test_a_lab_that_is_never_closed_ends_with_its_process(folder: Path) -> None:
    code = "import attestlab, sys; lab = attestlab.open(sys.argv[1]); print(lab.me().plan)"
    done = subprocess.run(
        [sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=WAIT_TIMEOUT_S, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "ENTERPRISE\n", "")


def test_a_lab_that_is_never_closed_meters_its_last_verification(folder: Path) -> None:
    """The interpreter closes it, when threads take no more work."""
    with attestlab.open(folder) as lab:
        mint_one(lab)
    code = "import attestlab, sys; lab = attestlab.open(sys.argv[1]); print(lab.attestations[0].verify().verdict.value)"
    done = subprocess.run(
        [sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=WAIT_TIMEOUT_S, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "VALID\n", "")
    assert count_tallies(folder) > 0


def test_an_outcome_becomes_a_label_when_its_time_to_undo_is_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome_settler, "INTERVAL_S", 0.05)
    with attestlab.open(folder) as lab:
        lab.signals.add("a", "b", 90, "ip", "::1")
        (case,) = lab.cases.list(status="open")
        lab.cases.resolve_many([{"id": case, "outcome": "fraud"}], undo_seconds=1)
        assert lab.cases[case.id].label_at is not None
        wait_until(lambda: lab.cases[case.id].label_at, None)
        assert lab.cases[case.id].outcome == "fraud"
