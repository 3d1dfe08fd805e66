"""SIGKILL at random moments under four clients: each key has one leaf, and no acknowledged mint is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from support.databases import create_postgres_database
from support.faults.checks import check_minting_clients
from support.faults.minting_clients import MintingClients
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.issuers import register_issuer

CLIENTS = 4
WORKERS = 2
TRAFFIC_S = 0.2
KILLS = 60


def kill_at_random_moments(server: ForkedServer, chance: random.Random, *, kills: int) -> MintingClients:
    """Traffic, a kill, a new start, and so on; in the end every client has its answers."""
    with server.start().client() as http:
        minters = MintingClients(register_issuer(http), CLIENTS)
    server.stop()
    for number in range(kills):
        server.start()
        with minters.at_work(server):
            if number % 4:  # every fourth is killed while it starts to work
                minters.wait_for_answer()
            time.sleep(chance.uniform(0, TRAFFIC_S))
            server.kill()
    with server.start():
        minters.settle(server)
        server.stop()
    assert len(minters.answers) > kills // 2, "there was no traffic between the kills"
    return minters


def test_after_many_kills_every_key_has_one_leaf_and_nothing_is_lost(
    fork_server: ForkServer, tmp_path: Path, is_long: bool
) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    minters = kill_at_random_moments(server, random.Random("sqlite"), kills=KILLS if is_long else KILLS // 6)
    check_minting_clients(server, minters)


def test_after_kills_between_a_server_and_its_postgresql_nothing_is_lost(
    fork_server: ForkServer, tmp_path: Path, postgres_url: str, is_long: bool
) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", create_postgres_database(postgres_url))
    minters = kill_at_random_moments(server, random.Random("postgresql"), kills=KILLS if is_long else KILLS // 12)
    check_minting_clients(server, minters)


def test_killed_worker_is_replaced(fork_server: ForkServer, tmp_path: Path) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    chance = random.Random("workers")
    with server.start("--workers", str(WORKERS)):
        with server.client() as http:
            minters = MintingClients(register_issuer(http), CLIENTS)
        with minters.at_work(server):
            for _ in range(4):
                while len(server.workers()) < WORKERS:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, TRAFFIC_S))
                os.kill(chance.choice(server.workers()), signal.SIGKILL)
        minters.settle(server)
        server.stop()
    check_minting_clients(server, minters)


def test_stop_during_a_worker_replacement_stops_the_server(fork_server: ForkServer, tmp_path: Path) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with server.start("--workers", str(WORKERS)):
        os.kill(server.workers()[0], signal.SIGKILL)
        while len(server.workers()) == WORKERS:
            time.sleep(0.01)
        server.stop()
