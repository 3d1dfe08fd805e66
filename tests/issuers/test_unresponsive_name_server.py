"""A name server that never answers costs the tenant that asks it, and no other client."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from itertools import islice

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.issuers.txt_resolver import DnsResolver
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.identity import AuthClient
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.name_server import serve_dns
from support.orgs import create_api_key
from support.timeouts import WAIT_TIMEOUT_S

CHECKS = 12


@pytest.fixture
def others(lab: Installation) -> Iterator[AuthClient]:
    """A served installation, and a tenant that asks no name server."""
    tenant = lab.orgs.create_tenant("Another Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url, key=create_api_key(lab, tenant)) as client:
        yield AuthClient(client, tenant)


@pytest.mark.on_postgresql
def test_unresponsive_name_server_does_not_delay_other_requests(lab: Installation, others: AuthClient) -> None:
    """
    On PostgreSQL, where reads have threads.
    """
    tenant = lab.orgs.create_tenant("A Registry", plan=Plan.ENTERPRISE)
    minted = mint(others.client, make_mint_body(register_issuer(others.client))).json()["id"]
    with (
        serve_dns() as dns,
        make_client(str(others.client.base_url), key=create_api_key(lab, tenant)) as client,
        ThreadPoolExecutor(CHECKS) as clients,
    ):
        lab.domain_proofs.resolver = DnsResolver(dns.address, timeout_s=WAIT_TIMEOUT_S)
        dns.is_silent = True
        path = f"/v1/issuers/{register_issuer(client)['id']}/domain-proof/check"
        checks: list[Future[httpx.Response]] = [clients.submit(client.post, path) for _ in range(CHECKS)]
        refused = [done.result() for done in islice(as_completed(checks), CHECKS - 1)]

        answers = [
            others.login().status_code,
            others.client.get(f"/v1/attestations/{minted}").status_code,
            others.client.get(f"/v1/attestations/{minted}/sd-jwt").status_code,
            others.client.get("/healthz").status_code,
            others.client.get("/readyz").status_code,
        ]

        assert [done.done() for done in checks].count(False) == 1, "one look-up is in flight"
        dns.speak()
        found = wait(checks).done
    assert answers == [200] * 5
    assert {(answer.status_code, answer.headers["Retry-After"]) for answer in refused} == {(503, "5")}
    assert sorted(done.result().status_code for done in found) == [409, *[503] * (CHECKS - 1)]


def test_unanswered_look_up_is_a_503(lab: Installation, others: AuthClient) -> None:
    issuer = register_issuer(others.client)
    with serve_dns() as dns:
        lab.domain_proofs.resolver = DnsResolver(dns.address, timeout_s=0.1)
        dns.is_silent = True

        refused = others.client.post(f"/v1/issuers/{issuer['id']}/domain-proof/check")

    assert (refused.status_code, refused.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "Retry-After" in refused.headers
