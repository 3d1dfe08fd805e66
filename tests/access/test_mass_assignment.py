"""Mass assignment: fields that a caller must not set are rejected by name on every write route, without a change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select

from attestlab.installation import Installation
from attestlab.migrations.models import metadata
from attestlab.server.app import all_routes
from attestlab.web.routing.routes import Route
from support.access import AccessScenario, open_access_scenario
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer

FIELDS: dict[str, Any] = {
    "id": str(uuid4()),
    "tenant_id": str(uuid4()),
    "org_id": str(uuid4()),
    "status": "VALID",
    "roles": ["super_admin"],
    "plan": "ENTERPRISE",
    "is_operator": True,
    "trust_tier": "ENTERPRISE",
    "risk_rating": "LOW",
    "custody": "managed",
    "log_index": 0,
    "created_at": "2020-01-01T00:00:00Z",
    "password_hash": "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAA$AAAAAAAAAAA",
    "secret_sha256": "0" * 64,
    "expires_at": "2099-01-01T00:00:00Z",
}
WRITES = [route for route in all_routes() if route.body is not None]


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


def foreign_fields(route: Route) -> dict[str, Any]:
    """Returns the fields that this route's body does not have."""
    assert route.body is not None
    own = {field.alias or name for name, field in route.body.model_fields.items()}
    return {name: value for name, value in FIELDS.items() if name not in own}


def everything(lab: Installation) -> str:
    """Returns a digest of all stored data."""
    digest = hashlib.sha256()
    with lab.storage.read() as connection:
        for table in metadata().sorted_tables:
            for row in connection.execute(select(table).order_by(*table.primary_key)):
                digest.update(repr((table.name, *row)).encode())
    return digest.hexdigest()


def test_almost_every_route_is_tested_with_fourteen_fields() -> None:
    assert len(FIELDS) >= 14
    assert all(len(foreign_fields(route)) >= 11 for route in WRITES)
    assert len(WRITES) >= 6


def test_a_forbidden_field_is_rejected_by_name_and_changes_nothing(access: AccessScenario) -> None:
    account, wrong = access.account, []
    issuer = register_issuer(account.with_key)["id"]
    callers = [account.client_for(route) for route in WRITES]  # who signs in for it changes the records
    before = everything(access.lab)
    for route, caller in zip(WRITES, callers, strict=True):
        path = route.path.replace("{id}", issuer)
        for name, value in foreign_fields(route).items():
            body, key = {name: value}, {"Idempotency-Key": "k"}
            sent: dict[str, Any] = {"data": body} if route.web_form else {"json": body}
            answer = caller.request(route.method, path, **sent, headers=key)
            named = [fault["field"] for fault in answer.json().get("details", {}).get("fields", [])]
            if answer.status_code != 400 or f"/{name}" not in named:
                wrong.append((route.method, route.path, name, answer.status_code, answer.text[:200]))
    after = everything(access.lab)

    assert wrong == []
    assert after == before
