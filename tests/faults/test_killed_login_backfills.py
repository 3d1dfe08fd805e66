"""A past of logins whose server is killed while it receives and learns: later scores are those of a quiet load."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from sqlalchemy import create_engine, text

from attestlab.core.db.urls import database_url
from attestlab.risk.logins.login import Login
from support.databases import create_postgres_database
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import wait_until
from support.lab_checks import check_lab
from support.login_pasts import make_past, write_body, write_lines

LOGINS, NEXT, KILLS = 400, 30, 2
LOGINS_IN_SOAK, NEXT_IN_SOAK, KILLS_IN_SOAK = 8_000, 1_000, 8
PARTS = 6
HEADERS = {"Content-Type": "application/x-ndjson"}


def send(client: httpx.Client, logins: Sequence[Login]) -> None:
    """Send a part of the past; a server that is killed does not answer."""
    client.post("/v1/risk/ato/backfill", content=write_lines(logins), headers=HEADERS).raise_for_status()


def read_progress(client: httpx.Client) -> tuple[int, int]:
    found = client.get("/v1/risk/ato/backfill").raise_for_status().json()
    return found["accepted"], found["learnt"]


def wait_until_learnt(client: httpx.Client, count: int) -> None:
    """Wait until this number of logins is learnt; each slice may take as long as other tests wait for anything."""
    learnt = -1
    while learnt != count:
        wait_until(lambda before=learnt: read_progress(client)[1] != before, True)
        accepted, learnt = read_progress(client)
    assert accepted == count


def score(client: httpx.Client, logins: Sequence[Login]) -> list[float]:
    answers = [client.post("/v1/risk/ato/evaluate", json=write_body(login)) for login in logins]
    return [answer.raise_for_status().json()["score"] for answer in answers]


def has_unlearnt(server: ForkedServer) -> bool:
    """Read from the rows of a killed server whether something that it accepted is not learnt yet."""
    engine = create_engine(database_url(server.database_url))
    with engine.connect() as connection:
        found = connection.execute(text("SELECT accepted > learnt FROM risk_login_learning")).scalar_one_or_none()
    engine.dispose()
    return bool(found)


def load_through_kills(server: ForkedServer, parts: Sequence[Sequence[Login]], kills: int) -> None:
    """Send the parts from the first on after each kill, which comes while the server receives or learns.

    Every other kill comes at once after an answer, when the part is not learnt yet, however fast the machine is.
    """
    interrupted, chance = 0, random.Random("kills")
    for number in range(kills):
        with server.start().client() as client:
            for part in parts[: 2 + number % (len(parts) - 1)]:
                send(client, part)
            time.sleep(0 if number % 2 else chance.uniform(0, 0.1))
            server.kill()
        interrupted += has_unlearnt(server)
    assert interrupted, "no kill came before all was learnt"
    with server.start().client() as client:
        for part in parts:
            send(client, part)


def compare_scores(killed: ForkedServer, quiet: ForkedServer, *, is_long: bool) -> None:
    count, following, kills = (LOGINS_IN_SOAK, NEXT_IN_SOAK, KILLS_IN_SOAK) if is_long else (LOGINS, NEXT, KILLS)
    now = datetime.now(UTC).replace(microsecond=0)
    logins = make_past(11, count, now - timedelta(days=330))
    later = make_past(12, following, now - timedelta(minutes=30), days=0.02)
    shuffled = random.Random(5).sample(logins, count)
    size = -(-count // PARTS)
    parts = [shuffled[start : start + size] for start in range(0, count, size)]
    load_through_kills(killed, parts, kills)
    scores = []
    for server, requests in ((killed, []), (quiet, [logins])):
        if server is quiet:
            server.start()
        with server.client() as client:
            for part in requests:
                send(client, part)
            wait_until_learnt(client, count)
            scores.append(score(client, later))
        server.stop()

    assert scores[0] == scores[1]
    assert len(set(scores[0])) > 5
    lab = killed.open_lab()
    try:
        check_lab(lab)
    finally:
        lab.close()


def test_a_killed_load_scores_later_logins_like_a_quiet_one(
    fork_server: ForkServer, tmp_path: Path, is_long: bool
) -> None:
    servers = [
        ForkedServer.founded(fork_server, tmp_path / name, f"sqlite:///{tmp_path / name}.db")
        for name in ("killed", "quiet")
    ]
    compare_scores(*servers, is_long=is_long)


def test_a_load_that_is_killed_on_postgresql_scores_like_a_quiet_one_on_sqlite(
    fork_server: ForkServer, tmp_path: Path, postgres_url: str, is_long: bool
) -> None:
    killed = ForkedServer.founded(fork_server, tmp_path / "killed", create_postgres_database(postgres_url))
    quiet = ForkedServer.founded(fork_server, tmp_path / "quiet", f"sqlite:///{tmp_path / 'quiet.db'}")
    compare_scores(killed, quiet, is_long=is_long)
