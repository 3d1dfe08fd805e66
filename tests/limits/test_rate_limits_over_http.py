"""Rate limits over HTTP: by tenant, route and address, with their headers and errors."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
from sqlalchemy import select

from attestlab.core.records.audit import AuditEvent
from attestlab.orgs.rules import Plan
from attestlab.web.idempotency.store import StoredResponse
from attestlab.web.rate_limit.limiter import lane_of
from support.attestations import make_mint_body, mint
from support.issuers import register_issuer
from support.rate_limits import ProxiedServer
from support.timeouts import WAIT_TIMEOUT_S

HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Policy")
BURST = 10  # of a FREE tenant's 60 a minute


def spend(client: httpx.Client, times: int, path: str = "/v1/issuers") -> list[int]:
    """Sends this many requests in sequence; returns their statuses."""
    return [client.get(path).status_code for _ in range(times)]


def rate_headers(answer: httpx.Response) -> tuple[str, ...]:
    return tuple(answer.headers[name] for name in HEADERS)


def test_every_response_has_rate_limit_headers(proxied_server: ProxiedServer) -> None:
    """Also errors, probes and responses without a route."""
    free, stranger = proxied_server.client(proxied_server.tenant()), proxied_server.client(address="192.0.2.2")
    answers = [
        free.get("/v1/issuers"),
        free.get("/v1/issuers/nonsense"),
        free.post("/v1/issuers", content=b"{", headers={"Content-Type": "application/json"}),
        free.post("/v1/issuers", content=b"<a/>", headers={"Content-Type": "text/xml"}),
        free.post("/v1/issuers", content=b" " * 1024 * 1025),
        stranger.get("/v1/issuers"),
        stranger.get("/v1/issuers", headers={"X-API-Key": "al_live_x"}),
        stranger.get("/nowhere"),
        stranger.delete("/v1/issuers"),
        stranger.get("/healthz"),
        stranger.get("/readyz"),
        stranger.get("/metrics"),
        stranger.get("/openapi.json"),
        stranger.post("/v1/verify", json={}),
        stranger.head("/log/checkpoint"),
    ]

    assert [answer.status_code for answer in answers] == [
        *(200, 400, 400, 415, 413, 401, 401, 404, 405, 200, 200, 200, 200, 400, 200)
    ]
    assert [answer.status_code for answer in answers if not all(name in answer.headers for name in HEADERS)] == []
    noon = int(proxied_server.clock.now().timestamp())
    assert rate_headers(answers[0]) == ("60", "9", str(noon + 1), "60;w=60")
    assert rate_headers(answers[5]) == ("3000", "499", str(noon + 1), "3000;w=60")


def test_the_response_to_malformed_http_has_rate_limit_headers(proxied_server: ProxiedServer) -> None:
    address = httpx.URL(proxied_server.url)
    with socket.create_connection((address.host, address.port), timeout=WAIT_TIMEOUT_S) as connection:
        connection.sendall(b"GET /healthz\r\n\r\n")
        head = connection.recv(4096).decode().partition("\r\n\r\n")[0]

    assert head.startswith("HTTP/1.1 400")
    assert [name for name in HEADERS if f"\r\n{name}: " not in head] == []


def test_no_minute_admits_more_than_the_limit_and_the_burst(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant()
    client = proxied_server.client(tenant)

    allowed = []
    for _ in range(60):
        allowed.append(spend(client, 2).count(200))
        proxied_server.lab.counters.reset(
            f"violations:{lane_of('192.0.2.1', payer=tenant)}"
        )  # it is not the block that is looked at here
        proxied_server.clock.advance(timedelta(seconds=1))

    assert allowed[:9] == [2] * 9
    assert sum(allowed) == 60 + BURST - 1  # a token is whole at the end of its second
    assert allowed[-40:] == [1] * 40


def test_429_states_retry_after_and_the_retry_succeeds(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant())
    assert spend(client, BURST) == [200] * BURST

    refused = client.get("/v1/issuers")
    error = refused.json()

    assert (refused.status_code, error["code"], refused.headers["Retry-After"]) == (429, "RATE_LIMIT_EXCEEDED", "1")
    assert error["retry_after_ms"] == 1000
    assert error["details"].items() >= {"limit": 60, "window_seconds": 60, "retry_after_seconds": 1}.items()
    assert rate_headers(refused)[:2] == ("60", "0")
    proxied_server.clock.advance(timedelta(seconds=1))
    assert spend(client, 2) == [200, 429]


def test_every_credential_and_spelling_uses_the_tenants_bucket(proxied_server: ProxiedServer) -> None:
    """Both header forms, people and keys, any case and slashes of a path, whatever an untrusted proxy forwards."""
    tenant = proxied_server.tenant()
    owner = proxied_server.owner(tenant)
    clients = [proxied_server.client(tenant, address=f"192.0.2.{number}, 198.51.100.{number}") for number in range(30)]
    for number, client in enumerate(clients):
        if number % 3 == 1:
            del client.headers["X-API-Key"]
            client.headers["Authorization"] = f"ApiKey {tenant.api_key}"
        client.headers["X-Tenant-Id" if number % 2 else "x-tenant-id"] = str(tenant.tenant_id)

    statuses = [
        status
        for number, client in enumerate(clients)
        for status in (
            client.get(("/v1/issuers", "/V1/Issuers", "/v1/issuers/", "/v1/issuers?limit=1")[number % 4]).status_code,
            owner.get("/v1/me").status_code if number < 8 else 404,
        )
    ]

    assert statuses.count(200) == BURST
    assert set(statuses) == {200, 404, 429}


def test_each_tenant_has_its_own_bucket(proxied_server: ProxiedServer) -> None:
    spend(proxied_server.client(proxied_server.tenant()), BURST + 1)

    assert spend(proxied_server.client(proxied_server.tenant()), BURST) == [200] * BURST


def test_enterprise_is_unlimited_until_the_operator_sets_a_limit(proxied_server: ProxiedServer) -> None:
    unlimited, limited = (
        proxied_server.tenant(Plan.ENTERPRISE),
        proxied_server.tenant(Plan.ENTERPRISE, requests_per_minute=30),
    )

    assert spend(proxied_server.client(unlimited), 40) == [200] * 40
    assert spend(proxied_server.client(limited, address="192.0.2.2"), 7) == [200] * 5 + [429] * 2


def test_64_concurrent_requests_get_as_much_as_sequential_ones(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(Plan.STARTER)
    clients = [proxied_server.client(tenant, address=f"192.0.2.{number}") for number in range(64)]

    with ThreadPoolExecutor(64) as pool:
        statuses = list(pool.map(lambda client: spend(client, 3), clients))

    assert sum(status.count(200) for status in statuses) == 300 // 6


def test_a_route_can_have_its_own_window(proxied_server: ProxiedServer) -> None:
    path, limit, window_s = "/v1/audit/events", 30, 60
    client = proxied_server.client(proxied_server.tenant(Plan.PROFESSIONAL))

    assert spend(client, limit, path) == [200] * limit
    refused = client.get(path)

    said = {"limit": limit, "window_seconds": window_s, "retry_after_seconds": window_s}
    assert refused.json()["details"].items() >= said.items()
    assert rate_headers(refused) == (
        str(limit),
        "0",
        str(int(proxied_server.clock.now().timestamp()) + window_s),
        f"{limit};w={window_s}",
    )
    assert spend(client, 1) == [200]
    proxied_server.clock.advance(timedelta(seconds=window_s))
    assert spend(client, 1, path) == [200]


def test_ten_issuers_an_hour_and_twenty_keys_a_day(proxied_server: ProxiedServer) -> None:
    tenant = proxied_server.tenant(Plan.PROFESSIONAL)
    key, owner = proxied_server.client(tenant), proxied_server.owner(tenant)

    def issuer() -> int:
        return key.post("/v1/issuers", json={"name": "Registry", "domain": "r.example"}).status_code

    def api_key() -> int:
        return owner.post("/v1/api-keys", json={"name": "one more", "scopes": ["issuers:read"]}).status_code

    assert [issuer() for _ in range(11)] == [201] * 10 + [429]
    assert [api_key() for _ in range(21)] == [201] * 20 + [429]
    proxied_server.clock.advance(timedelta(hours=1))
    owner = proxied_server.owner(tenant)
    assert (issuer(), api_key()) == (201, 429)
    proxied_server.clock.advance(timedelta(hours=23))
    owner = proxied_server.owner(tenant)
    assert api_key() == 201


def test_a_hundred_mints_a_minute_counting_each_item_of_a_batch(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant(Plan.PROFESSIONAL))
    body = make_mint_body(register_issuer(client))

    def batch(size: int) -> list[int]:
        answer = client.post("/v1/attestations/batch", json={"items": [body] * size})
        assert answer.status_code == 200, answer.text
        return [item["http_status"] for item in answer.json()["items"]]

    assert [mint(client, body).status_code for _ in range(30)] == [201] * 30
    assert batch(60) == [201] * 60
    assert batch(25) == [201] * 10 + [429] * 15
    refused = mint(client, body)
    assert (refused.status_code, refused.json()["details"]["limit"]) == (429, 100)
    proxied_server.clock.advance(timedelta(minutes=1))
    assert batch(100) == [201] * 100


def test_verifying_and_probing_cost_nothing(proxied_server: ProxiedServer) -> None:
    stranger = proxied_server.client()
    unknown = {"attestation_id": "01997f3a-0000-7000-8000-000000000000"}

    answers = [stranger.post("/v1/verify", json=unknown) for _ in range(100)]

    assert {answer.status_code for answer in answers} == {200}
    assert {status for path in ("/healthz", "/readyz", "/metrics") for status in spend(stranger, 5, path)} == {200}
    assert answers[-1].headers["X-RateLimit-Remaining"] == "500"


def test_a_client_without_valid_credential_is_charged_by_address(proxied_server: ProxiedServer) -> None:
    one, other, neighbour = (
        proxied_server.client(address=address)
        for address in ("2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:1:ff::9")
    )

    def left(client: httpx.Client, path: str, **options: Any) -> int:
        return int(client.get(path, **options).headers["X-RateLimit-Remaining"])

    assert left(one, "/v1/issuers") == 499
    assert left(one, "/v1/issuers", headers={"X-API-Key": "al_live_" + "0" * 32}) == 498
    assert left(one, "/log/checkpoint") == 497
    assert left(one, "/nowhere") == 496
    assert left(neighbour, "/log/checkpoint") == 495
    assert left(other, "/log/checkpoint") == 499


def test_too_many_invalid_credentials_are_rate_limited(proxied_server: ProxiedServer) -> None:
    """So the audit trail, which is kept permanently, does not grow with every guess."""
    guesser = proxied_server.client()
    guesser.headers["X-API-Key"] = "al_live_" + "0" * 32

    statuses = []
    for _ in range(12):
        statuses += spend(guesser, 51)
        proxied_server.clock.advance(timedelta(seconds=1.1))

    assert statuses == [401] * 600 + [429] * 12
    with proxied_server.lab.storage.read() as connection:
        lines = connection.execute(select(AuditEvent.id).where(AuditEvent.action == "request.denied")).all()
    assert len(lines) == 600


def test_five_violations_block_the_tenant_at_that_address_for_15_minutes(proxied_server: ProxiedServer) -> None:
    """Everything but the probes; the trail records the block once."""
    tenant = proxied_server.tenant()
    wild = proxied_server.client(tenant)
    spend(wild, BURST)

    refused = [wild.get("/v1/issuers") for _ in range(5)]
    assert [answer.headers["Retry-After"] for answer in refused] == ["1"] * 4 + ["900"]

    proxied_server.clock.advance(timedelta(minutes=5))
    also = [wild.get("/v1/issuers"), wild.post("/v1/issuers", json={})]
    assert [(answer.status_code, answer.headers["Retry-After"]) for answer in also] == [(429, "600")] * 2
    assert spend(wild, 1, "/healthz") == [200]
    assert spend(proxied_server.client(tenant, address="192.0.2.2"), 1) == [200]
    proxied_server.clock.advance(timedelta(minutes=10))
    assert spend(wild, 1) == [200]
    assert blocks(proxied_server) == [(tenant.tenant_id, "192.0.2.1")]
    (signal,) = wild.get("/v1/risk/signals").json()["items"]
    assert (signal["entity_type"], signal["entity_id"], signal["signal_type"]) == ("ip", "192.0.2.1", "velocity")


def test_who_waits_as_long_as_each_refusal_asks_is_not_blocked(proxied_server: ProxiedServer) -> None:
    """A program that wants more than its limit, and knows no header but Retry-After."""
    client = proxied_server.client(proxied_server.tenant())
    spend(client, BURST)
    waits = []

    for _ in range(20):
        while (answer := client.get("/v1/issuers")).status_code == 200:
            pass
        waits.append(int(answer.headers["Retry-After"]))
        proxied_server.clock.advance(timedelta(seconds=waits[-1]))

    assert waits == [1] * 20
    assert spend(client, 1) == [200]
    assert blocks(proxied_server) == []


def test_who_waits_now_and_then_is_blocked(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant())
    spend(client, BURST)
    waits = []

    for _ in range(4):
        waits += [client.get("/v1/issuers").headers["Retry-After"] for _ in range(2)]
        proxied_server.clock.advance(timedelta(seconds=1))
        spend(client, 1)

    assert waits == ["1"] * 7 + ["900"]


def test_a_blocked_tenant_does_not_block_others_at_its_address(proxied_server: ProxiedServer) -> None:
    wild, other, stranger = (
        proxied_server.client(proxied_server.tenant()),
        proxied_server.client(proxied_server.tenant(Plan.ENTERPRISE)),
        proxied_server.client(),
    )

    assert spend(wild, BURST + 6)[-1] == 429

    assert spend(other, 1) == [200]
    assert stranger.post("/v1/verify", json={"attestation_id": str(uuid4())}).status_code == 200
    assert [stranger.get(path).status_code for path in ("/log/checkpoint", "/a/nothing")] == [200, 404]


def test_a_blocked_address_answers_valid_credentials_and_its_public_pages(proxied_server: ProxiedServer) -> None:
    tenant, stranger = proxied_server.tenant(Plan.ENTERPRISE), proxied_server.client()
    exhaust(proxied_server, "address:192.0.2.1")

    assert spend(stranger, 6)[-2:] == [429, 429]

    unknown = {"attestation_id": str(uuid4())}
    assert stranger.post("/v1/verify", json=unknown).headers["Retry-After"] == "900"
    guessed = proxied_server.client()
    guessed.headers["X-API-Key"] = "al_live_" + "0" * 32
    assert [spend(guessed, 1), guessed.post("/v1/verify", json=unknown).status_code] == [[429], 429]
    known = proxied_server.client(tenant)
    assert spend(known, 1) == [200]
    assert [known.post("/v1/verify", json=unknown).status_code, spend(known, 1, "/log/checkpoint")] == [200, [200]]
    assert spend(stranger, 1, "/a/nothing") == [404]
    assert blocks(proxied_server) == [(proxied_server.operator_id(), "192.0.2.1")]


def test_public_pages_have_their_own_bucket(proxied_server: ProxiedServer) -> None:
    reader = proxied_server.client()
    exhaust(proxied_server, "address:192.0.2.1:pages")

    assert spend(reader, 6, "/a/nothing")[-2:] == [429, 429]

    assert spend(reader, 1, "/log/checkpoint") == [200]


def exhaust(proxied_server: ProxiedServer, bucket: str, *, cost: int = 500) -> None:
    """Takes this many tokens from the 500 of an address's bucket."""
    proxied_server.lab.counters.take(bucket, per_minute=3000, now=proxied_server.clock.now(), cost=cost)


def blocks(proxied_server: ProxiedServer) -> list[tuple[Any, ...]]:
    """Returns the tenant in whose trail each block is recorded, and the address."""
    with proxied_server.lab.storage.read() as connection:
        lines = select(AuditEvent.tenant_id, AuditEvent.resource_id).where(AuditEvent.action == "address.block")
        return [tuple(line) for line in connection.execute(lines)]


def test_the_error_names_the_exhausted_limit_with_the_longest_wait(proxied_server: ProxiedServer) -> None:
    """A hundred mints exhaust both the minute and the day; waiting a minute would not help."""
    client = proxied_server.client(proxied_server.tenant())
    body = make_mint_body(register_issuer(client))
    minted = client.post("/v1/attestations/batch", json={"items": [body] * 100}).json()["items"]
    assert {item["http_status"] for item in minted} == {201}

    single, batch = mint(client, body), client.post("/v1/attestations/batch", json={"items": [body]})

    wait_s = 12 * 3600
    daily = {"limit": 100, "window_seconds": 86_400, "retry_after_seconds": wait_s}
    assert (single.status_code, single.headers["Retry-After"]) == (429, str(wait_s))
    assert single.headers["X-RateLimit-Policy"] == "100;w=86400"
    for error in (single.json(), batch.json()["items"][0]["error"]):
        assert error["details"].items() >= daily.items()


def test_an_exhausted_route_window_is_reported_over_an_exhausted_minute(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant(requests_per_minute=180, issuers=100))
    statuses = [client.post("/v1/issuers", json={"name": "a", "domain": "r.example"}).status_code for _ in range(10)]
    assert statuses == [201] * 10
    spend(client, 20)

    refused = client.post("/v1/issuers", json={"name": "a", "domain": "r.example"})

    assert (refused.status_code, refused.headers["X-RateLimit-Policy"]) == (429, "10;w=3600")


def test_violations_further_apart_do_not_block(proxied_server: ProxiedServer) -> None:
    client = proxied_server.client(proxied_server.tenant())

    for _ in range(3):
        assert spend(client, BURST + 3)[-1] == 429
        proxied_server.clock.advance(timedelta(minutes=11))

    assert spend(client, 1) == [200]


def test_another_tenant_in_the_header_is_rejected_in_the_sandbox(proxied_server: ProxiedServer) -> None:
    tenant, other = proxied_server.tenant(), proxied_server.tenant()
    client = proxied_server.client(tenant)

    def status(claimed: str) -> tuple[int, str]:
        answer = client.get("/v1/issuers", headers={"X-Tenant-ID": claimed})
        return answer.status_code, answer.json().get("code", "")

    assert status(str(tenant.tenant_id)) == status(str(tenant.tenant_id).upper()) == (200, "")
    assert status(str(other.tenant_id)) == (403, "TENANT_IDENTITY_UNVERIFIED")
    assert status("nonsense") == (403, "TENANT_IDENTITY_UNVERIFIED")


def left(answer: httpx.Response) -> int:
    """Returns the remaining requests of the address according to the response."""
    return int(answer.headers["X-RateLimit-Remaining"])


def test_a_rejected_verification_costs_its_address_a_request(proxied_server: ProxiedServer) -> None:
    stranger = proxied_server.client()

    answers = [stranger.post("/v1/verify", json={}), stranger.post("/v1/verify", content=b"<a/>")]

    assert [answer.status_code for answer in answers] == [400, 415]
    assert [left(answer) for answer in answers] == [499, 498]


def test_a_large_rejected_body_costs_its_address_more(proxied_server: ProxiedServer) -> None:
    """It costs as much server time as that many small requests; a tenant's own body costs the tenant one request."""
    wide = {f"k{number:05d}": 1 for number in range(75_000)}  # 975,001 bytes
    stranger = proxied_server.client()

    verified, signed_in = stranger.post("/v1/verify", json=wide), stranger.post("/v1/auth/login", json=wide)
    of_a_tenant = proxied_server.client(proxied_server.tenant()).post("/v1/issuers", json=wide)

    assert [answer.status_code for answer in (verified, signed_in, of_a_tenant)] == [400, 400, 400]
    cost = 1 + int(verified.request.headers["Content-Length"]) // 16_384
    assert (left(verified), left(signed_in)) == (500 - cost, 500 - 2 * cost)
    assert left(of_a_tenant) == 9


def test_refused_verifications_end_in_429_and_a_block(proxied_server: ProxiedServer) -> None:
    stranger = proxied_server.client()
    exhaust(proxied_server, "address:192.0.2.1", cost=498)

    statuses = [stranger.post("/v1/verify", json={}).status_code for _ in range(7)]

    assert statuses == [400] * 2 + [429] * 5
    assert stranger.post("/v1/verify", json={"attestation_id": str(uuid4())}).headers["Retry-After"] == "900"


def test_verify_ignores_an_idempotency_key(proxied_server: ProxiedServer) -> None:
    """It is a read; earlier, every key that an anonymous client sent was stored for a day."""
    stranger = proxied_server.client()
    stranger.headers["Idempotency-Key"] = "once"

    answers = [stranger.post("/v1/verify", json={"attestation_id": str(uuid4())}) for _ in range(3)]

    assert [(answer.status_code, answer.headers.get("Idempotent-Replayed")) for answer in answers] == [(200, None)] * 3
    with proxied_server.lab.storage.read() as connection:
        assert connection.execute(select(StoredResponse.seq)).all() == []


def test_a_credential_tried_with_a_profile_counts_as_an_attempt(proxied_server: ProxiedServer) -> None:
    """The response stays the 404 of an unknown profile until there are too many; the trail records each attempt."""
    guesser, body = proxied_server.client(), {"attestation_id": str(uuid4()), "verification_profile_id": str(uuid4())}
    guesser.headers["X-API-Key"] = "al_live_" + "0" * 32

    first = guesser.post("/v1/verify", json=body)
    for _ in range(599):
        proxied_server.lab.counters.count("failed:192.0.2.1", limit=600, window_s=60, now=proxied_server.clock.now())
    beyond = guesser.post("/v1/verify", json=body)

    assert (first.status_code, first.json()["code"]) == (404, "NOT_FOUND")
    assert (beyond.status_code, beyond.headers["X-RateLimit-Policy"]) == (429, "600;w=60")
    with proxied_server.lab.storage.read() as connection:
        tried = select(AuditEvent.resource_id).where(AuditEvent.action == "request.denied")
        assert connection.execute(tried).scalars().all() == ["POST /v1/verify"]


def test_failed_sign_ins_of_an_ipv6_network_are_counted_together(proxied_server: ProxiedServer) -> None:
    def sign_in(address: str) -> int:
        body = {"email": f"{uuid4()}@example.org", "password": "a wrong password"}
        return proxied_server.client(address=address).post("/v1/auth/login", json=body).status_code

    proxied_server.lab.counters.count(
        "login:peer:2001:db8::/64", limit=30, window_s=900, now=proxied_server.clock.now(), cost=29
    )

    assert [sign_in(address) for address in ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")] == [401, 429, 401]
