"""Consumers with a portfolio, and what they protect."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.in_process_server import make_client
from support.orgs import PASSWORD

ME = "/v1/consumer/me"
PROTECTIONS = "/v1/consumer/protections"
PORTFOLIO = "/v1/consumer/portfolio"


@dataclass
class Consumer:
    """A consumer who is signed in."""

    lab: Installation
    email: str
    user_id: UUID
    tenant_id: UUID
    client: httpx.Client

    def protect(self, content: str = "sunset", **fields: Any) -> dict[str, Any]:
        """Protect content."""
        return protect(self.client, content, **fields)

    def sign_in_again(self, url: str) -> None:
        """Sign in, after the access token has expired."""
        self.client.headers["Authorization"] = f"Bearer {sign_in(url, self.email)}"

    def choose_profile(self, username: str, *, visibility: str = "public") -> None:
        """Choose what the account shows of its owner; its username can be chosen once."""
        assert self.client.put(f"{ME}/username", json={"username": username}).status_code == 200
        shown = {"bio": "Photographs", "portfolio_visibility": visibility}
        assert self.client.patch(ME, json=shown).status_code == 200


def open_consumer(lab: Installation, url: str, email: str, name: str = "Ada Lovelace") -> Consumer:
    """Open an account without limits, and sign in."""
    made = lab.orgs.add_consumer(email, PASSWORD, name=name)
    lab.orgs.set_plan(made.tenant_id, Plan.ENTERPRISE, {})
    return Consumer(lab, email, made.consumer_id, made.tenant_id, make_client(url, token=sign_in(url, email)))


def sign_in(url: str, email: str) -> str:
    """Sign in; returns the access token."""
    with make_client(url) as anyone:
        answer = anyone.post("/v1/auth/login", json={"email": email, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    token: str = answer.json()["access_token"]
    return token


def protect(consumer: httpx.Client, content: str = "sunset", **fields: Any) -> dict[str, Any]:
    """Protect content as a consumer who is signed in, or by their key."""
    answer = consumer.post(PROTECTIONS, json=make_protection_body(content, **fields))
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def make_protection_body(content: str = "sunset", **fields: Any) -> dict[str, Any]:
    """A body that is accepted."""
    return {"content_hash": hash_of(content), "title": content.title(), **fields}


def hash_of(content: str) -> str:
    """The SHA-256 of content, as a browser would compute it."""
    return hashlib.sha256(content.encode()).hexdigest()


def verify(url: str, protection: dict[str, Any], *, document_hash: str | None = None) -> str:
    """Verify the attestation of a protection, as anyone can; returns the verdict."""
    body = {"attestation_id": protection["attestation_id"]}
    with make_client(url) as anyone:
        answer = anyone.post(
            "/v1/verify", json=body if document_hash is None else {**body, "document_hash_hex": document_hash}
        )
    assert answer.status_code == 200, answer.text
    verdict: str = answer.json()["verdict"]
    return verdict
