"""A revocation in one worker applies in all others immediately; in production the tenant header is ignored."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from support import patient_http
from support.in_process_server import make_client
from support.server_process import ServerProcess

pytestmark = pytest.mark.both_engines

CONNECTIONS = 12  # shared out among the workers by the kernel


def token_of(server: ServerProcess) -> str:
    sent = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    token: str = patient_http.post(server.url + "/v1/auth/login", json=sent).raise_for_status().json()["access_token"]
    return token


def test_every_worker_rejects_a_revoked_key_and_an_ended_session(empty_database: str, tmp_path: Path) -> None:
    server = ServerProcess.initialised(tmp_path / "data", empty_database)
    server.start("--workers", "2")
    with ExitStack() as stack:
        token = token_of(server)
        owner = stack.enter_context(make_client(server.url, token=token))
        made = owner.post("/v1/api-keys", json={"name": "gone soon", "scopes": ["issuers:read"]}).json()
        by_key, by_token = (
            [stack.enter_context(make_client(server.url, **shown)) for _ in range(CONNECTIONS)]
            for shown in ({"key": made["secret"]}, {"token": token})
        )
        before = [client.get("/v1/issuers").status_code for client in (*by_key, *by_token)]

        assert owner.post(f"/v1/api-keys/{made['id']}/revoke").status_code == 200
        keys_after = [client.get("/v1/issuers") for client in by_key]
        assert owner.post("/v1/auth/logout").status_code == 204
        tokens_after = [client.get("/v1/issuers") for client in by_token]

    assert before == [200] * 2 * CONNECTIONS
    assert {(answer.status_code, answer.json()["code"]) for answer in keys_after + tokens_after} == {
        (401, "AUTH_INVALID")
    }
    server.stop()
    server.check()


def test_the_tenant_header_is_ignored_in_production(empty_database: str, tmp_path: Path) -> None:
    server = ServerProcess.initialised(tmp_path / "data", empty_database)
    server.start("--env", "production")

    with server.client() as client:
        answers = [client.get("/v1/me", headers=headers) for headers in ({}, {"X-Tenant-ID": str(uuid4())})]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    server.stop()
