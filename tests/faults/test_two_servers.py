"""Several servers on one database: one log without a gap or a fork, whichever of them a client asks."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest
from faults.clients import UNUSED, Client, Crowd
from faults.nursery import Nursery
from faults.servers import QuickServer
from faults.stories import check_crowd
from running_server import COMMAND, register_issuer

TRAFFIC_S = 2.0
pytestmark = pytest.mark.timeout(300)


def test_two_servers_on_one_database_keep_one_log(nursery: Nursery, tmp_path: Path, empty_database: str) -> None:
    with QuickServer.founded(nursery, tmp_path / "data", empty_database) as one, one.another() as other:
        with one.client() as http:
            crowd = Crowd(register_issuer(http), 6)
        with crowd.at_work(one, other):
            time.sleep(TRAFFIC_S)
        one.stop()
        crowd.settle(other)
        other.stop()
    assert all(client.answers for client in crowd.clients), "both servers minted"
    check_crowd(one, crowd)


def test_workers_behind_one_port_keep_one_log(nursery: Nursery, tmp_path: Path, empty_database: str) -> None:
    server = QuickServer.founded(nursery, tmp_path / "data", empty_database)
    with server.start("--workers", "2"):
        with server.client() as http:
            crowd = Crowd(register_issuer(http), 6)
        with crowd.at_work(server):
            time.sleep(TRAFFIC_S)
        crowd.settle(server)
        server.stop()
    check_crowd(server, crowd)


def test_two_servers_do_one_key_once(nursery: Nursery, tmp_path: Path, empty_database: str) -> None:
    """
    The same mints under the same keys go to both at once; each is done by one of them and repeated by the other.
    """
    with QuickServer.founded(nursery, tmp_path / "data", empty_database) as one, one.another() as other:
        with one.client() as http:
            issuer = register_issuer(http)
        crowd = Crowd(issuer, 2)
        keys = [f"key {number}" for number in range(40)]
        threads = [
            threading.Thread(target=mint_all, args=(client, server, keys))
            for client, server in zip(crowd.clients, (one, other), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one.stop()
        other.stop()
    here, there = (client.answers for client in crowd.clients)
    assert {key: answer.content for key, answer in here.items()} == {
        key: answer.content for key, answer in there.items()
    }
    assert len(here) == len(keys)
    check_crowd(one, crowd)


def mint_all(client: Client, server: QuickServer, keys: list[str]) -> None:
    with server.client(verify=UNUSED) as http:
        for client.pending in keys:
            client.settle(http)


def test_servers_that_start_at_once_in_an_empty_folder_share_one_installation(
    tmp_path: Path, empty_database: str
) -> None:
    folder = tmp_path / "data"
    command = [*COMMAND, "serve", "--data", str(folder), "--database-url", empty_database, "--port", "0"]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=(tmp_path / f"{number}").open("w"), text=True)
        for number in range(3)
    ]
    try:
        lines = [process.stdout.readline() for process in started if process.stdout]
        errors = [(tmp_path / f"{number}").read_text() for number in range(3)]
        assert all(line.startswith("ready ") for line in lines), errors
        assert sum("Initialised" in error for error in errors) == 1
        keys = {httpx.get(line.split()[1] + "/v1/log/vkey").text for line in lines}
        assert len(keys) == 1
    finally:
        for process in started:
            process.terminate()
            process.wait(10)
