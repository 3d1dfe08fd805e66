"""Two hosts with different clocks on one PostgreSQL: limits, blocks and tokens follow the database's time."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
import pytest

from support import patient_http
from support.attestations import make_mint_body, mint
from support.faults.minting_clients import NO_TLS_CONTEXT
from support.faults.servers import ForkedServer
from support.fork_server import ForkServer
from support.issuers import register_issuer
from support.server_process import run_json_command

pytestmark = pytest.mark.on_postgresql

AHEAD_S = 15
BUCKET = 50  # a sixth of what the plan STARTER allows in a minute


def statuses(http: httpx.Client, times: int) -> set[int]:
    return {http.get("/v1/issuers").status_code for _ in range(times)}


def signed_in(server: ForkedServer, http: httpx.Client) -> dict[str, str]:
    """The headers of the owner, who signs in at this server."""
    who = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    return {"Authorization": f"Bearer {http.post('/v1/auth/login', json=who).json()['access_token']}"}


def test_clock_skew_of_one_host_does_not_affect_clients_of_another(
    fork_server: ForkServer, tmp_path: Path, empty_database: str
) -> None:
    right = ForkedServer.founded(fork_server, tmp_path / "data", empty_database)
    ahead = right.another()
    ahead.host = ("attestlab_ahead", str(AHEAD_S))
    where = ("--data", str(right.data), "--database-url", right.database_url, "--json")
    tenant = run_json_command("tenant", "create", "Clocks", "--plan", "STARTER", *where)
    with (
        right,
        ahead,
        right.client(key=tenant["api_key"], verify=NO_TLS_CONTEXT) as here,
        ahead.client(key=tenant["api_key"], verify=NO_TLS_CONTEXT) as there,
        patient_http.open_client(base_url=right.url, verify=NO_TLS_CONTEXT) as anyone_here,
        patient_http.open_client(base_url=ahead.url, verify=NO_TLS_CONTEXT) as anyone_there,
    ):
        allowed = [statuses(there, BUCKET // 4), statuses(here, BUCKET // 4)]
        dates = [parsedate_to_datetime(http.get("/healthz").headers["Date"]) for http in (here, there)]
        token = signed_in(ahead, anyone_there)
        known_here = anyone_here.get("/v1/me", headers=token).status_code
        with right.client(verify=NO_TLS_CONTEXT) as operator:
            minted = mint(operator, make_mint_body(register_issuer(operator))).status_code
        right.stop()
        ahead.stop()

    assert allowed == [{200}, {200}]
    assert abs((dates[1] - dates[0]).total_seconds()) < AHEAD_S / 2
    assert (known_here, minted) == (200, 201)
    right.check()
