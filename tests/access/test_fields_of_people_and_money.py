"""One wrong field in a body about people or money is named, stores nothing and uses nothing up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import b64url_encode
from attestlab.installation import Installation
from attestlab.migrations.models import metadata
from attestlab.server.app import all_routes
from support.access import PASSWORD, AccessScenario, PartyClients, open_access_scenario
from support.attestations import make_mint_body, mint
from support.consumers import ConsumerPortal
from support.field_mutations import Description, Json, Mutation
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.pictures import make_png
from support.protections import hash_of, protect
from support.receipt_types import mint_receipt

PREFIXES = (
    *("/v1/consumer/", "/v1/receipts", "/v1/receipt-types", "/v1/billing/"),
    *("/v1/platform/blog/", "/v1/auth/password/"),
)
# A payload that is no receipt's is a verdict, whatever its size.
ANSWERED = {("POST /v1/receipts/verify", "payload", "too large")}
NO_OBJECTS: list[Any] = [[], "text", 7]
Bodies = dict[str, tuple[dict[str, str], Json]]


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


@pytest.fixture
def description(access: AccessScenario) -> Description:
    with make_client(access.url) as client:
        return Description(client.get("/openapi.json").json())


def list_valid_bodies(account: PartyClients, made: dict[str, str]) -> Bodies:
    """Return for each operation the parameters of its path, and a body that it accepts with all that it may have."""
    receipt = {"receipt_type": made["type"], "issuer_id": made["issuer"], "payload": {"parcel": "7"}}
    post = {"title": "News", "category": "product", "content": "Text", "excerpt": "", "tags": ["one"]}
    shown = {"title": "Sunset", "description": "", "category": "photo", "visibility": "private"}
    reason = {"reason": "a test"}
    return {
        "PATCH /v1/consumer/inbox/{id}": ({"id": made["item"]}, {"read_state": "READ"}),
        "POST /v1/consumer/inbox/{id}/decline": ({"id": made["item"]}, reason),
        "POST /v1/consumer/inbox/deliver": (
            {},
            {"attestation_id": made["attestation"], "recipient_email": "grace@people.example", "safe_metadata": {}},
        ),
        "POST /v1/consumer/signup": (
            {},
            {"email": "new@people.example", "password": PASSWORD, "name": "New", "username": "new"},
        ),
        "POST /v1/consumer/verify-email": ({}, {"token": made["token"]}),
        "POST /v1/consumer/verify-email/resend": ({}, {"email": "new@people.example"}),
        "PATCH /v1/consumer/me": ({}, {"name": "Ada", "bio": "", "portfolio_visibility": "public"}),
        "PUT /v1/consumer/me/username": ({}, {"username": "ada"}),
        "POST /v1/consumer/emails": ({}, {"email": "further@people.example"}),
        "PATCH /v1/consumer/emails/{email}": ({"email": made["email"]}, {"primary": True}),
        "POST /v1/consumer/protections": (
            {},
            {
                **{"content_hash": hash_of("new"), "content_type": "image", **shown},
                **{"file_name": "sunset.png", "file_size": 7},
            },
        ),
        "PATCH /v1/consumer/protections/{id}": ({"id": made["protection"]}, shown),
        "POST /v1/consumer/protections/{id}/revoke": ({"id": made["protection"]}, reason),
        "POST /v1/consumer/api-keys": ({}, {"name": "mine"}),
        "POST /v1/consumer/api-keys/{id}/revoke": ({"id": made["consumer key"]}, reason),
        "POST /v1/receipts": ({}, {**receipt, "subject": "parcel 7", "metadata": {}, "retention_policy": "standard"}),
        "POST /v1/receipts/search": ({}, {"q": "parcel", "limit": 7, "offset": 0}),
        "POST /v1/receipts/verify": ({}, {"receipt_id": made["receipt"]}),
        "POST /v1/receipts/{id}/revoke": ({"id": made["receipt"]}, reason),
        "POST /v1/receipts/{id}/redact": ({"id": made["receipt"]}, reason),
        "POST /v1/receipt-types": (
            {},
            {
                **{"name": "delivery", "version": "1.0.0", "schema": {"type": "object"}},
                **{"display_name": "Delivery", "description": ""},
            },
        ),
        "POST /v1/receipt-types/{name}/deprecate": ({"name": made["type"]}, {"version": "1.0.0", **reason}),
        "POST /v1/billing/portal": (
            {},
            {"return_url": "http://localhost/back", "provider": "stripe", "flow": "plan"},
        ),
        "POST /v1/billing/subscription/preview": ({}, {"plan": "PROFESSIONAL", "addons": {"extra_issuers": 1}}),
        "POST /v1/billing/subscription": ({}, {"plan": "PROFESSIONAL"}),
        "POST /v1/billing/addons/attach": ({}, {"addon_key": "extra_issuers", "quantity": 2}),
        "POST /v1/billing/addons/detach": ({}, {"addon_key": "extra_issuers"}),
        "POST /v1/platform/blog/posts": ({}, {**post, "slug": "news", "cover_image_url": "https://example.com/a.png"}),
        "PUT /v1/platform/blog/posts/{id}": ({"id": made["post"]}, {**post, "slug": "newer"}),
        "POST /v1/platform/blog/media": ({}, {"content_b64url": made["picture"]}),
        "POST /v1/auth/password/forgot": ({}, {"email": "new@people.example"}),
        "POST /v1/consumer/me/delete": ({}, {"password": PASSWORD}),
        "POST /v1/auth/password/reset": ({}, {"token": made["reset token"], "password": PASSWORD}),
    }


def make_things(access: AccessScenario, account: PartyClients) -> dict[str, str]:
    """Make what the bodies name."""
    portal = ConsumerPortal(access.lab, access.url, access.anonymous())
    issuer = register_issuer(account.with_key)
    delivered = make_mint_body(issuer, recipient_email=account.consumer_email)
    receipt = mint_receipt(account.with_key, issuer)
    waiting, further = f"{uuid4().hex[:8]}@people.example", f"{uuid4().hex[:8]}@people.example"
    assert portal.sign_up(waiting).status_code == 201
    account.consumer.post("/v1/consumer/emails", json={"email": further}).raise_for_status()
    portal.verify(portal.token_of(further)).raise_for_status()
    portal.anyone.post("/v1/auth/password/forgot", json={"email": account.tenant.owner_email}).raise_for_status()
    mint(account.with_key, delivered)
    post = {"title": "Old", "category": "company", "content": "", "slug": uuid4().hex}
    things = {
        "issuer": issuer["id"],
        "type": receipt["receipt_type"],
        "receipt": receipt["receipt_id"],
        "attestation": mint(account.with_key, make_mint_body(issuer)).json()["id"],
        "item": account.consumer.get("/v1/consumer/inbox").json()["items"][0]["id"],
        "protection": protect(account.consumer)["id"],
        "consumer key": account.consumer.post("/v1/consumer/api-keys", json={"name": "old"}).json()["id"],
        "post": account.editor.post("/v1/platform/blog/posts", json=post).json()["id"],
        "email": further,
        "token": portal.token_of(waiting),
        "reset token": portal.token_of(account.tenant.owner_email),
        "picture": b64url_encode(make_png()),
    }
    portal.anyone.close()
    return things


def digest_records(lab: Installation) -> str:
    """Return a digest of all stored data, counts of use included."""
    digest = hashlib.sha256()
    with lab.storage.read() as connection:
        for table in metadata().sorted_tables:
            for row in connection.execute(select(table).order_by(*table.primary_key)):
                digest.update(repr((table.name, *row)).encode())
    return digest.hexdigest()


def clients_by_operation(account: PartyClients) -> dict[str, httpx.Client]:
    return {f"{route.method} {route.path}": account.client_for(route) for route in all_routes()}


def send(client: httpx.Client, operation: str, parameters: dict[str, str], body: Any) -> httpx.Response:
    method, _, path = operation.partition(" ")
    return client.request(method, path.format(**parameters), json=body)


def is_named(answer: httpx.Response, field: str) -> bool:
    """Whether an answer refuses a body with a pointer to a field, or into it; a picture of another type is a 415."""
    if answer.status_code not in (400, 415):
        return False
    places = [fault["field"] for fault in answer.json().get("details", {}).get("fields", [])]
    return any(place == f"/{field}" or place.startswith(f"/{field}/") for place in places)


def find_accepted(
    client: httpx.Client, operation: str, parameters: dict[str, str], mutations: Iterable[Mutation]
) -> list[object]:
    """Send the wrong bodies; return those whose answer does not name the wrong field."""
    return [
        (operation, field, what, answer.status_code, answer.text[:300])
        for what, field, body in mutations
        if (operation, field, what) not in ANSWERED
        and not is_named(answer := send(client, operation, parameters, body), field)
    ]


def test_each_wrong_field_is_named_and_stores_nothing(
    access: AccessScenario, description: Description, clock: FixedClock
) -> None:
    account = access.account
    bodies = list_valid_bodies(account, make_things(access, account))
    clients, described = clients_by_operation(account), description.list_bodies(*PREFIXES)
    wrong: list[object] = []
    for operation, schema in described.items():
        parameters, valid = bodies[operation]
        before = digest_records(access.lab)
        wrong += find_accepted(clients[operation], operation, parameters, description.mutate(schema, valid))
        statuses = [send(clients[operation], operation, parameters, whole).status_code for whole in NO_OBJECTS]
        wrong += [(operation, statuses)] if statuses != [400] * len(NO_OBJECTS) else []
        wrong += [(operation, "stored something")] if digest_records(access.lab) != before else []
        clock.advance(timedelta(minutes=1))  # so that the limit of the address is full again

    assert set(described) == set(bodies)
    assert wrong == []


def test_the_bodies_that_were_made_wrong_are_accepted(access: AccessScenario, description: Description) -> None:
    """So each refusal above has its cause in the one wrong field."""
    account = access.account
    bodies = list_valid_bodies(account, make_things(access, account))
    clients = clients_by_operation(account)
    answers = {
        operation: send(clients[operation], operation, parameters, valid)
        for operation, (parameters, valid) in bodies.items()
    }

    assert {name: answer.text for name, answer in answers.items() if answer.status_code >= 300} == {}
    assert sum(len(list(description.mutate(schema, {}))) for schema in described_bodies(description)) > 400


def described_bodies(description: Description) -> list[Json]:
    return list(description.list_bodies(*PREFIXES).values())
