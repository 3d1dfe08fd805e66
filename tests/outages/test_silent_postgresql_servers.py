"""Two servers survive a PostgreSQL that falls silent, disconnects and returns: no loss, no manual repair."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from attestlab.core.db import postgresql
from support.faults.checks import check_minting_clients
from support.faults.minting_clients import NO_TLS_CONTEXT, MintingClients
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.in_process_server import wait_until
from support.issuers import register_issuer
from support.tcp_proxy import TcpProxy, proxy_database
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = [pytest.mark.soak, pytest.mark.on_postgresql]

ANSWER_WITHIN_S = 15  # what clients are promised
FREED_WITHIN_S = 30
PROBES = ("/healthz", "/metrics")
PATHS = ("/v1/issuers", "/log/checkpoint", "/v1/log/head", "/readyz")


@dataclass
class Pair:
    """Two servers on one database, each behind its own proxy."""

    servers: tuple[ForkedServer, ForkedServer]
    proxies: tuple[TcpProxy, TcpProxy]
    direct: ForkedServer  # never started; the same installation without a proxy

    @contextmanager
    def silent(self) -> Iterator[None]:
        for proxy in self.proxies:
            proxy.fall_silent()
        yield
        for proxy in self.proxies:
            proxy.come_back()


@pytest.fixture
def pair(fork_server: ForkServer, tmp_path: Path, empty_database: str) -> Iterator[Pair]:
    direct = ForkedServer.founded(fork_server, tmp_path / "data", empty_database)
    with proxy_database(empty_database) as (left, left_url), proxy_database(empty_database) as (right, right_url):
        one, other = direct.another(left_url), direct.another(right_url)
        with one, other:
            yield Pair((one, other), (left, right), direct)


def require_answers_while_silent(server: ForkedServer) -> None:
    """`/healthz` is healthy; what needs the records gets 503 (how soon: see the limits, in the last test)."""
    with server.client(verify=NO_TLS_CONTEXT) as http:
        assert [http.get(path).status_code for path in PATHS] == [503] * len(PATHS)
        assert http.get("/healthz").status_code == 200


def require_health_while_others_wait(server: ForkedServer) -> None:
    """More requests wait for the database than there are threads; none is answered before `/healthz`."""
    with server.client(verify=NO_TLS_CONTEXT) as http, ThreadPoolExecutor(12) as pool:
        waiting = [pool.submit(http.get, PATHS[0]) for _ in range(12)]
        assert http.get("/healthz").status_code == 200
        assert not any(answer.done() for answer in waiting)
        assert {answer.result().status_code for answer in waiting} == {503}


def is_ready(server: ForkedServer) -> bool:
    with server.client(verify=NO_TLS_CONTEXT) as http:
        return http.get("/readyz").status_code == 200


def test_two_servers_survive_a_silent_and_a_disconnecting_database(pair: Pair) -> None:
    one, other = pair.servers
    with one.client(verify=NO_TLS_CONTEXT) as http:
        minters = MintingClients(register_issuer(http), 4)
    with minters.at_work(one, other):
        minters.wait_for_answer()
        with pair.silent():
            require_health_while_others_wait(one)
            for server in pair.servers:
                require_answers_while_silent(server)
        for server in pair.servers:
            wait_until(lambda server=server: is_ready(server), True)
        minters.wait_for_answer()
        for proxy in pair.proxies:
            proxy.cut()
        for server in pair.servers:
            wait_until(lambda server=server: is_ready(server), True)
        minters.wait_for_answer()
    minters.settle(other)
    for server in pair.servers:
        server.stop()
    assert all(client.answers for client in minters.clients), "both servers minted"
    check_minting_clients(pair.direct, minters)


def test_a_server_lost_in_a_write_frees_the_log_head_and_ends_on_sigterm(pair: Pair) -> None:
    """The other server writes all the time, so it holds the lock or waits for it when its network goes."""
    one, other = pair.servers
    with one.client(verify=NO_TLS_CONTEXT) as http:
        issuer = register_issuer(http)
    lost, minters = MintingClients(issuer, 3), MintingClients(issuer, 2)
    with minters.at_work(one), lost.at_work(other):
        lost.wait_for_answer()
        pair.proxies[1].fall_silent()
        minters.wait_for_answer()
        other.stop()
        for client in lost.clients:
            client.refusing = frozenset({409, 500, 503})
        pending = [client.pending for client in lost.clients]
    assert pending
    pair.proxies[1].come_back()
    lost.settle(one)
    one.stop()
    check_both(pair.direct, minters, lost)


def check_both(server: ForkedServer, *groups_of_minters: MintingClients) -> None:
    """All groups_of_minters as one."""
    together = MintingClients(groups_of_minters[0].clients[0].issuer, 0)
    together.clients = [client for minters in groups_of_minters for client in minters.clients]
    check_minting_clients(server, together)


@pytest.mark.parametrize("limits", [postgresql.REQUESTS], ids=["requests"])
def test_database_timeouts_fit_within_the_promised_times(limits: postgresql.Limits) -> None:
    """A wait for the lock may follow another's; a connect follows an answer that did not come."""
    assert 2 * limits.lock_s < ANSWER_WITHIN_S
    assert max(limits.statement_s, limits.lock_s) < limits.answer_s < ANSWER_WITHIN_S
    assert limits.idle_in_write_s < FREED_WITHIN_S < WAIT_TIMEOUT_S
