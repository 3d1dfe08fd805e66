"""Limits in the real server: two workers share one count, and the operator changes plans at run time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from support import patient_http
from support.fork_server import run_command
from support.server_process import ServerProcess, run_json_command

pytestmark = pytest.mark.both_engines

STARTER = 300
CLOCK_ACCURACY_S = {"sqlite": 0.0, "postgresql": 1.0}
"""How far two busy workers may differ about the time: each knows the database's clock to half of a round trip."""


def in_the_installation(server: ServerProcess) -> tuple[str, ...]:
    return ("--data", str(server.data), "--database-url", server.database_url, "--json")


def seen(server: ServerProcess, key: str, times: int) -> list[int]:
    """Returns the statuses of requests on one connection, which one worker serves."""
    with patient_http.open_client(base_url=server.url, headers={"X-API-Key": key}) as client:
        return [client.get("/v1/issuers").status_code for _ in range(times)]


def test_two_workers_share_one_rate_limit(empty_database: str, tmp_path: Path) -> None:
    """A burst of 64 succeeds up to the bucket's size plus what is refilled during it, within one in a hundred.

    Two buckets, one in each worker, would let twice the size succeed.
    """
    server = ServerProcess.initialised(tmp_path / "data", empty_database)
    server.start("--workers", "2")
    tenant = run_json_command("tenant", "create", "Burst", "--plan", "STARTER", *in_the_installation(server))

    began = time.time()
    with ThreadPoolExecutor(64) as pool:
        statuses = [one for many in pool.map(lambda _: seen(server, tenant["api_key"], 3), range(64)) for one in many]
    refilled_s = time.time() - began + CLOCK_ACCURACY_S[make_url(server.database_url).get_backend_name()]
    came_back = refilled_s * STARTER / 60
    server.stop()

    assert set(statuses) == {200, 429}
    assert STARTER / 6 <= statuses.count(200) <= (STARTER / 6 + came_back) * 1.01
    server.check()


def test_the_operator_changes_a_plan_while_the_server_runs(server: ServerProcess) -> None:
    tenant = run_json_command("tenant", "create", "Grows", *in_the_installation(server))

    shown = run_json_command(
        *("tenant", "plan", tenant["tenant_id"], "STARTER"),
        *("--set", "issuers=25", "--set", "attestations_per_day=none"),
        *in_the_installation(server),
    )

    assert (shown["plan"], shown["issuers"], shown["attestations_per_day"]) == ("STARTER", 25, None)
    assert (shown["requests_per_minute"], shown["has_endpoint_limits"]) == (300, True)
    with server.client(key=tenant["api_key"]) as client:
        assert client.get("/v1/issuers").headers["X-RateLimit-Limit"] == "300"
        assert client.get("/v1/me").json()["plan"] == "STARTER"


@pytest.mark.parametrize(
    "arguments",
    [
        ("00000000-0000-7000-8000-000000000000", "STARTER"),
        ("nonsense", "STARTER"),
        ("TENANT", "GOLD"),
        ("TENANT", "STARTER", "--set", "wishes=3"),
        ("TENANT", "STARTER", "--set", "issuers=-1"),
        ("TENANT", "STARTER", "--set", "issuers=many"),
        ("TENANT", "STARTER", "--set", "issuers"),
        ("TENANT", "STARTER", "--set", "has_endpoint_limits=0"),
    ],
    ids=" ".join,
)
def test_an_unknown_plan_changes_nothing(tmp_path_factory: pytest.TempPathFactory, arguments: tuple[str, ...]) -> None:
    folder = tmp_path_factory.mktemp("plans")
    made = run_json_command("init", "--data", str(folder), "--json")

    filled = [made["tenant_id"] if argument == "TENANT" else argument for argument in arguments]
    done = run_command("tenant", "plan", *filled, "--data", str(folder))

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
