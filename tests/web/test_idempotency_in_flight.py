"""Of two concurrent requests with one Idempotency-Key, the second is rejected until the first has its response."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.faults.statement_faults import serve_in_process
from support.in_process_server import make_client
from support.timeouts import WAIT_TIMEOUT_S

ISSUER = {"name": "Northfield University", "domain": "northfield.example.edu", "alg": "Ed25519"}
KEY = {"Idempotency-Key": "one"}


def test_a_key_in_flight_is_rejected_immediately(lab: Installation) -> None:
    tenant = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
    with (
        serve_in_process(lab) as server,
        make_client(server.url, key=tenant.api_key) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        with lab.storage.write():  # the writer's lock, for which the first request waits
            first = pool.submit(client.post, "/v1/issuers", json=ISSUER, headers=KEY)
            server.wait_for_writes(1)
            second = client.post("/v1/issuers", json=ISSUER, headers=KEY)
        made = first.result(WAIT_TIMEOUT_S)
        again = client.post("/v1/issuers", json=ISSUER, headers=KEY)

    assert (second.status_code, second.json()["code"]) == (409, "CONFLICT")
    assert second.json()["details"]["reason"] == "in_flight"
    assert (made.status_code, again.status_code) == (201, 201)
    assert again.content == made.content
    assert again.headers["Idempotent-Replayed"] == "true"
