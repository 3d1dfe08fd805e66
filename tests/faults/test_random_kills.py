"""SIGKILL at random moments under four clients: each key has one leaf, and no acknowledged mint is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from faults.clients import Crowd
from faults.servers import QuickServer, new_postgres_database
from faults.stories import check_crowd

from support.fork_server import ForkServer
from support.issuers import register_issuer

CLIENTS = 4
WORKERS = 2
TRAFFIC_S = 0.2
KILLS = 60


def kill_at_random_moments(server: QuickServer, chance: random.Random, *, kills: int) -> Crowd:
    """Traffic, a kill, a new start, and so on; in the end every client has its answers."""
    with server.start().client() as http:
        crowd = Crowd(register_issuer(http), CLIENTS)
    server.stop()
    for number in range(kills):
        server.start()
        with crowd.at_work(server):
            if number % 4:  # every fourth is killed while it starts to work
                crowd.wait_for_answer()
            time.sleep(chance.uniform(0, TRAFFIC_S))
            server.kill()
    with server.start():
        crowd.settle(server)
        server.stop()
    assert len(crowd.answers) > kills // 2, "there was no traffic between the kills"
    return crowd


def test_after_many_kills_every_key_has_one_leaf_and_nothing_is_lost(
    fork_server: ForkServer, tmp_path: Path, is_long: bool
) -> None:
    server = QuickServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    crowd = kill_at_random_moments(server, random.Random("sqlite"), kills=KILLS if is_long else KILLS // 6)
    check_crowd(server, crowd)


def test_after_kills_between_a_server_and_its_postgresql_nothing_is_lost(
    fork_server: ForkServer, tmp_path: Path, postgres_url: str, is_long: bool
) -> None:
    server = QuickServer.founded(fork_server, tmp_path / "data", new_postgres_database(postgres_url))
    crowd = kill_at_random_moments(server, random.Random("postgresql"), kills=KILLS if is_long else KILLS // 12)
    check_crowd(server, crowd)


def test_killed_worker_is_replaced(fork_server: ForkServer, tmp_path: Path) -> None:
    server = QuickServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    chance = random.Random("workers")
    with server.start("--workers", str(WORKERS)):
        with server.client() as http:
            crowd = Crowd(register_issuer(http), CLIENTS)
        with crowd.at_work(server):
            for _ in range(4):
                while len(server.workers()) < WORKERS:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0, TRAFFIC_S))
                os.kill(chance.choice(server.workers()), signal.SIGKILL)
        crowd.settle(server)
        server.stop()
    check_crowd(server, crowd)


def test_stop_during_a_worker_replacement_stops_the_server(fork_server: ForkServer, tmp_path: Path) -> None:
    server = QuickServer.founded(fork_server, tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with server.start("--workers", str(WORKERS)):
        os.kill(server.workers()[0], signal.SIGKILL)
        while len(server.workers()) == WORKERS:
            time.sleep(0.01)
        server.stop()
