"""A world with somebody of each kind: keys of every scope, people of every role, a second tenant."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from app_in_process import client_of

from attestlab.core import audited
from attestlab.core.audited import Deed
from attestlab.core.ids import new_id
from attestlab.lab import Lab
from attestlab.orgs import rules, store
from attestlab.orgs.rules import Environment, Plan, Scope
from attestlab.orgs.service import TenantCreated


@dataclass
class World:
    """A served installation with a tenant beside the operator's own."""

    lab: Lab
    url: str
    tenant: TenantCreated

    def anonymous(self) -> httpx.Client:
        return client_of(self.url)

    def key_with(self, *scopes: Scope) -> httpx.Client:
        """A fresh key of the tenant's that has just these scopes."""
        secret = rules.compose_api_key(
            "al", Environment.LIVE, "".join(secrets.choice(rules.ALPHABET) for _ in range(26))
        )
        now = self.lab.clock.now()
        row: dict[str, Any] = {
            "id": new_id(now),
            "tenant_id": self.tenant.tenant_id,
            "name": "single",
            "prefix": rules.shown_prefix(secret),
            "secret_sha256": hashlib.sha256(secret.encode()).digest(),
            "environment": "live",
            "scopes": " ".join(scopes),
            "status": "ACTIVE",
            "created_at": now,
        }
        actor = self.lab.orgs.service_caller(self.tenant.tenant_id)
        with self.lab.storage.write() as tx:
            audited.insert(tx, store.api_keys, row, Deed(self.tenant.tenant_id, actor, "api_key.create", now))
        return client_of(self.url, key=secret)


@contextmanager
def world_of(lab: Lab, url: str) -> Iterator[World]:
    """The world around an installation that is served at `url`."""
    yield World(lab, url, lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE))
