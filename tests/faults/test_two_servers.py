"""Several servers on one database keep one log without a gap or a fork, whichever server a client uses."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from support import patient_http
from support.faults.checks import check_minting_clients
from support.faults.minting_clients import NO_TLS_CONTEXT, MintingClient, MintingClients
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.issuers import register_issuer

ANSWERS = 5  # of each client, before the servers stop
pytestmark = pytest.mark.both_engines


def test_two_servers_on_one_database_keep_one_log(fork_server: ForkServer, tmp_path: Path, empty_database: str) -> None:
    with ForkedServer.founded(fork_server, tmp_path / "data", empty_database) as one, one.another() as other:
        with one.client() as http:
            minters = MintingClients(register_issuer(http), 6)
        with minters.at_work(one, other):
            minters.wait_for_answers(ANSWERS)
        one.stop()
        minters.settle(other)
        other.stop()
    assert all(client.answers for client in minters.clients), "both servers minted"
    check_minting_clients(one, minters)


def test_workers_behind_one_port_keep_one_log(fork_server: ForkServer, tmp_path: Path, empty_database: str) -> None:
    server = ForkedServer.founded(fork_server, tmp_path / "data", empty_database)
    with server.start("--workers", "2"):
        with server.client() as http:
            minters = MintingClients(register_issuer(http), 6)
        with minters.at_work(server):
            minters.wait_for_answers(ANSWERS)
        minters.settle(server)
        server.stop()
    check_minting_clients(server, minters)


def test_two_servers_execute_one_key_once(fork_server: ForkServer, tmp_path: Path, empty_database: str) -> None:
    """
    The same mints under the same keys go to both at once; each is done by one of them and repeated by the other.
    """
    with ForkedServer.founded(fork_server, tmp_path / "data", empty_database) as one, one.another() as other:
        with one.client() as http:
            issuer = register_issuer(http)
        minters = MintingClients(issuer, 2)
        keys = [f"key {number}" for number in range(16)]
        threads = [
            threading.Thread(target=mint_all, args=(client, server, keys))
            for client, server in zip(minters.clients, (one, other), strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        one.stop()
        other.stop()
    here, there = (client.answers for client in minters.clients)
    assert {key: answer.content for key, answer in here.items()} == {
        key: answer.content for key, answer in there.items()
    }
    assert len(here) == len(keys)
    check_minting_clients(one, minters)


def mint_all(client: MintingClient, server: ForkedServer, keys: list[str]) -> None:
    with server.client(verify=NO_TLS_CONTEXT) as http:
        for client.pending in keys:
            client.settle(http)


@pytest.mark.parametrize("attempt", [0, *[pytest.param(number, marks=pytest.mark.soak) for number in (1, 2)]])
def test_concurrent_first_starts_share_one_installation(
    fork_server: ForkServer, tmp_path: Path, empty_database: str, attempt: int
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    servers = [ForkedServer(fork_server, folder, empty_database, {}) for _ in range(3)]
    with servers[0].launched(), servers[1].launched(), servers[2].launched():
        keys = {patient_http.get(server.ready().url + "/v1/log/vkey").text for server in servers}
        assert len(keys) == 1, keys
        assert servers[0].errors().count("Initialized") == 1
        for server in servers:
            server.stop()
    servers[0].check()
