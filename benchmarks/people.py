"""`people.*`: what people, receipts and the blog cost, as ratios of sides that are measured in turn."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx

from attestlab.blog.rules import PostCategory
from attestlab.blog.shapes import BlogPostIn
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan as TenantPlan
from attestlab.settings import Settings
from benchmarks import servers, world
from benchmarks.figures import Figure
from benchmarks.load import FRESH, Plan, format_request, run_load
from benchmarks.postgresql_mints import run_postgresql
from benchmarks.sides import ROUNDS, SECONDS, WARMUP_S, Side, compare_sides
from benchmarks.world import ServedInstallation

FEW, MANY = 10, 10_000  # items of an inbox
BATCH = 50
PASSWORD = secrets.token_urlsafe(16)
RECIPIENTS = {FEW: "few@people.example", MANY: "many@people.example"}
WITHOUT_COUNTS = (sys.executable, "-m", "benchmarks.without_counts")
CONTENT = "\n\n".join(f"## Part {number}\n\nA *paragraph* of [a post](https://a.example)." for number in range(40))


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures on SQLite and on PostgreSQL; the servers write to `folder`."""
    with ExitStack() as stack:
        urls = {"sqlite": None, "postgresql": stack.enter_context(run_postgresql())}
        for engine, url in urls.items():
            yield from _figures_of_engine(folder / engine, engine, url)


def _figures_of_engine(folder: Path, engine: str, url: str | None) -> Iterator[Figure]:
    (folder / "floor").mkdir(parents=True)
    data, keys = folder / "data", list[str]()
    with ExitStack() as stack:
        served = stack.enter_context(
            world.serve_installation(data, before=lambda made: keys.append(_prepare(made, url)), database_url=url)
        )
        other = stack.enter_context(_open_tenant(served, keys[0]))
        people = {count: stack.enter_context(_sign_in(served, address)) for count, address in RECIPIENTS.items()}
        _fill_inbox(served, FEW)
        yield from _receipt_figures(served, engine)
        yield from _page_figures(stack, served, people[FEW], folder / "floor", engine)
        yield from _delivery_figures(served, other, engine)
        _fill_inbox(served, MANY)
        yield from _inbox_figures(served, people, engine)
        yield from _verification_figures(stack, served, people[FEW], data, url, engine)


def _prepare(data: Path, url: str | None) -> str:
    """Add consumers and a second tenant, none with a limit on requests, and a post; return the tenant's key."""
    lab = Installation.open(Settings(data=data, **({} if url is None else {"database_url": url})))  # type: ignore[arg-type]
    for address in RECIPIENTS.values():
        made = lab.orgs.add_consumer(address, PASSWORD, name="Ada")
        lab.orgs.set_plan(made.tenant_id, TenantPlan.ENTERPRISE, {})
    editor = lab.operator_caller()
    draft = BlogPostIn(title="A post", category=PostCategory.PRODUCT, content=CONTENT, slug="post")
    lab.blog.publish(lab.blog.create(draft, caller=editor).id, caller=editor)
    tenant = lab.orgs.create_tenant("Another tenant", plan=TenantPlan.ENTERPRISE)
    lab.close()
    return tenant.api_key


@contextmanager
def _open_tenant(served: ServedInstallation, key: str) -> Iterator[ServedInstallation]:
    """Give another tenant an issuer; yields its mints on the same server."""
    with httpx.Client(base_url=served.server.url, headers={"X-API-Key": key}) as client:
        body = world.build_mint_body(client)
        yield ServedInstallation(served.server, client, key, served.log_vkey, body)


@contextmanager
def _sign_in(served: ServedInstallation, email: str) -> Iterator[httpx.Client]:
    login = {"email": email, "password": PASSWORD}
    token = served.client.post("/v1/auth/login", json=login).raise_for_status().json()["access_token"]
    with httpx.Client(base_url=served.server.url, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


def _receipt_figures(served: ServedInstallation, engine: str) -> Iterator[Figure]:
    """Yield receipts against mints, by 8 and by 64 clients."""
    made = {"name": "delivery", "version": "1.0.0", "schema": {"type": "object"}}
    served.client.post("/v1/receipt-types", json=made).raise_for_status()
    key = {name: served.mint_body[name] for name in ("issuer_id", "kid", "alg")}  # as the mint names it
    body = {"receipt_type": "delivery", **key, "payload": {"parcel": "7"}}
    receipt = format_request(
        "POST", "/v1/receipts", body, X_API_Key=served.api_key, Idempotency_Key=f"{secrets.token_hex(6)}-{FRESH}"
    )
    sides = Side(served.server, receipt, 201), Side(served.server, served.build_mint_request(), 201)
    for connections in (8, 64):
        yield from compare_sides(f"people.{engine}.receipt_{connections}", *sides, connections, against="mint")


def _page_figures(
    stack: ExitStack, served: ServedInstallation, consumer: httpx.Client, folder: Path, engine: str
) -> Iterator[Figure]:
    """Yield public pages against a bare server that answers the same bytes."""
    consumer.put("/v1/consumer/me/username", json={"username": "ada"}).raise_for_status()
    consumer.patch("/v1/consumer/me", json={"portfolio_visibility": "public"}).raise_for_status()
    for number in range(20):
        _protect(consumer, f"content {number}")
    floor = stack.enter_context(servers.run_floor(folder))
    for name, path in {"portfolio": "/v1/consumer/portfolio/ada", "page": "/u/ada", "post": "/blog/post"}.items():
        (folder / name).write_bytes(served.client.get(path).raise_for_status().content)
        ours = Side(served.server, format_request("GET", path))
        bare = Side(floor, format_request("GET", f"/bytes/{name}"))
        yield from compare_sides(f"people.{engine}.{name}", ours, bare, 8, against="the same bytes")


def _delivery_figures(served: ServedInstallation, other: ServedInstallation, engine: str) -> Iterator[Figure]:
    """Yield another tenant's mints while a tenant delivers each of its mints, against mints without a recipient."""
    delivered = {**served.mint_body, "recipient_email": RECIPIENTS[MANY]}
    fresh = f"{secrets.token_hex(6)}-{FRESH}"
    mint = "/v1/attestations/mint"
    busy = [
        format_request("POST", mint, body, X_API_Key=served.api_key, Idempotency_Key=f"{place}-{fresh}")
        for place, body in enumerate((delivered, served.mint_body))
    ]
    rounds: list[list[float]] = [[], []]
    for turn in range(ROUNDS):
        for place in (0, 1) if turn % 2 else (1, 0):
            rounds[place].append(_measure_together(other, busy[place]))
    ratios = [with_recipient / without for with_recipient, without in zip(*rounds, strict=True)]
    yield Figure.of_rounds(f"people.{engine}.beside_deliveries", ratios, "ratio", against="beside mints")


def _measure_together(other: ServedInstallation, busy: str) -> float:
    """Return the mints a second of one tenant while another sends the same request all the time."""
    port = other.server.port
    with ThreadPoolExecutor(1) as pool:
        busy_load = pool.submit(run_load, Plan(port, 8, SECONDS + 2 * WARMUP_S, 0.0, 201, [busy]))
        load = run_load(Plan(port, 8, SECONDS, WARMUP_S, 201, [other.build_mint_request()]))
        busy_load.result()
    return load.per_second


def _fill_inbox(served: ServedInstallation, count: int) -> None:
    """Deliver attestations until the account for this count has as many items."""
    with _sign_in(served, RECIPIENTS[count]) as client:
        items = client.get("/v1/consumer/inbox", params={"read_state": "ALL", "limit": 1}).raise_for_status().json()
    body = {**served.mint_body, "recipient_email": RECIPIENTS[count]}
    for missing in range(count - items["total"], 0, -BATCH):
        batch = {"items": [body] * min(BATCH, missing)}
        key = {"Idempotency-Key": secrets.token_hex(16)}
        served.client.post("/v1/attestations/batch", json=batch, headers=key, timeout=60).raise_for_status()


def _inbox_figures(served: ServedInstallation, people: dict[int, httpx.Client], engine: str) -> Iterator[Figure]:
    """Yield a page of a full inbox against the page of one with as many items as a page has."""
    path = f"/v1/consumer/inbox?read_state=ALL&limit={FEW}"
    many, few = (
        Side(served.server, format_request("GET", path, Authorization=people[count].headers["Authorization"]))
        for count in (MANY, FEW)
    )
    yield from compare_sides(f"people.{engine}.inbox_{MANY}", many, few, 8, against=f"an inbox of {FEW}")


def _verification_figures(
    stack: ExitStack, served: ServedInstallation, consumer: httpx.Client, data: Path, url: str | None, engine: str
) -> Iterator[Figure]:
    """Yield verifications of a protection with all counts against a server that counts nothing but the usage."""
    body = {"attestation_id": _protect(consumer, "counted")["attestation_id"]}
    bare = stack.enter_context(servers.run_attestlab(data, database_url=url, command=WITHOUT_COUNTS))
    request = format_request("POST", "/v1/verify", body)
    ours, theirs = Side(served.server, request), Side(bare, request)
    yield from compare_sides(f"people.{engine}.verify_counted", ours, theirs, 8, against="benchmarks/without_counts.py")


def _protect(consumer: httpx.Client, content: str) -> dict[str, Any]:
    body = {"content_hash": sha256(content.encode()).hexdigest(), "title": content, "visibility": "public"}
    made: dict[str, Any] = consumer.post("/v1/consumer/protections", json=body).raise_for_status().json()
    return made
