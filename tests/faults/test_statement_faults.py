"""A fault at any statement of a group commit leaves each mint either complete or undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import create_engine, text

from attestlab.installation import Installation
from attestlab.settings import Settings
from support import patient_http
from support.faults.checks import check_acknowledged_mints, count_attestations
from support.faults.minting_clients import NO_TLS_CONTEXT, MintingClient, read_acknowledgement
from support.faults.statement_faults import (
    COMMIT,
    InProcessServer,
    StatementCounter,
    serve_in_process,
    takes_write_lock,
)
from support.installations import install
from support.issuers import register_issuer

GROUP = 4
pytestmark = pytest.mark.both_engines


class InjectedFault(Exception):
    """An unexpected error."""


def refuse(_cursor: Any, statement: str) -> None:
    """The statement does not reach the database."""
    raise InjectedFault(statement)


def roll_back(cursor: Any, statement: str) -> None:
    """The database gives up the whole transaction: SQLite on an I/O error, PostgreSQL on any."""
    if "sqlite" in type(cursor).__module__:
        cursor.execute("ROLLBACK")
    else:
        cursor.execute("SELECT 1 / 0")
    raise InjectedFault(statement)


def lose_the_answer(driver: Any, statement: str) -> None:
    """The commit happens, and no client learns of it."""
    if statement == COMMIT:
        driver.commit()
    raise InjectedFault(statement)


class Outside:
    """Another client of the same database, which must never see half of a mint."""

    def __init__(self, lab: Installation) -> None:
        self.engine = create_engine(lab.storage.url)

    def require_whole(self) -> None:
        """The head is as far as its entries, and each minted entry has its attestation, event and audit line."""
        counted = [
            "(SELECT count(*) FROM log_leaves)",
            "(SELECT max(size) FROM log_checkpoints)",
            "(SELECT count(*) FROM attestations)"
            " + (SELECT count(*) FROM log_leaves WHERE kind <> 'attestation.minted')",
        ]
        events = "SELECT count(*) FROM outbox_events WHERE type = 'attestation.created'"
        lines = "SELECT count(*) FROM audit_events WHERE action = 'attestation.mint'"
        with self.engine.connect() as connection:
            sizes = connection.execute(text(f"SELECT size, {', '.join(counted)} FROM log_head")).one()
            of_mints = connection.execute(text(f"SELECT count(*), ({events}), ({lines}) FROM attestations")).one()
        assert len(set(sizes)) == 1, sizes
        assert len(set(of_mints)) == 1, of_mints


@dataclass
class Live:
    """A server in this process with its installation, and an outside client of its database."""

    lab: Installation
    serving: InProcessServer
    outside: Outside
    api_key: str

    def client(self) -> httpx.Client:
        return patient_http.open_client(
            base_url=self.serving.url,
            headers={"X-API-Key": self.api_key},
            verify=NO_TLS_CONTEXT,
        )


@pytest.fixture
def live(empty_database: str, tmp_path: Path) -> Iterator[Live]:
    """An installation on either engine, served."""
    made = install(tmp_path / "data", empty_database)
    lab = Installation.open(Settings(data=tmp_path / "data", database_url=empty_database))
    outside = Outside(lab)
    with serve_in_process(lab) as served:
        yield Live(lab, served, outside, made["api_key"])
    outside.engine.dispose()
    lab.close()


FAULTS = [refuse, roll_back, lose_the_answer]


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_at_any_statement_leaves_each_mint_complete_or_undone(
    live: Live, fault: Callable[[Any, str], None], is_long: bool
) -> None:
    """In the bounded form each fault takes every third statement, from another one on; on PostgreSQL every sixth."""
    with live.client() as http:
        issuer = register_issuer(http)
    answers: dict[str, httpx.Response] = {}
    spacing = len(FAULTS) * (1 if live.lab.storage.is_sqlite else 2)
    number, step = (1, 1) if is_long else (1 + FAULTS.index(fault), spacing)
    is_through = False
    while not is_through:
        clients = [MintingClient(issuer, frozenset({409, 500, 503})) for _ in range(GROUP)]
        is_through = not mint_with_fault(live, clients, number, fault)
        answers |= {key: answer for client in clients for key, answer in client.answers.items()}
        assert count_attestations(live.lab) == len(answers)
        number += step
    assert number > 12, "lock, key, head, leaves, checkpoint, rows, event, audit, commit and more"
    check_acknowledged_mints(live.lab, [read_acknowledgement(answer) for answer in answers.values()])


def mint_with_fault(live: Live, clients: list[MintingClient], number: int, fault: Callable[[Any, str], None]) -> bool:
    """Mint with all clients at once, let the statement of that number fail, and repeat the requests without an answer.

    Return False if the mints made fewer statements.
    """
    failed_at: list[str] = []

    def fail(count: int, statement: str, cursor: Any) -> None:
        if count >= number - 1:  # what comes before is looked at where an earlier statement fails
            live.outside.require_whole()
        if count == number:
            failed_at.append(statement)
            fault(cursor, statement)

    gate = live.lab.storage.begin()
    with StatementCounter(live.lab, fail).watched(), ThreadPoolExecutor(len(clients)) as threads:
        done = [threads.submit(mint_once, live, client) for client in clients]
        live.serving.wait_for_writes(len(clients))
        live.lab.storage.rollback(gate)
        for one in done:
            one.result()
    unanswered = [client for client in clients if client.pending is not None]
    assert len(unanswered) <= fellows(failed_at, len(clients)), f"neighbours suffer from {failed_at}"
    with live.client() as http:
        for client in unanswered:
            client.settle(http)
    return bool(failed_at)


def mint_once(live: Live, client: MintingClient) -> None:
    with live.client() as http:
        client.step(http)


def fellows(failed_at: list[str], group: int) -> int:
    """How many mints may a fault touch: all where it is the lock or the commit of all, else the one whose it was."""
    is_shared = any(takes_write_lock(statement) or statement.startswith(COMMIT) for statement in failed_at)
    return group if is_shared else 1
