"""Receipts with valid defaults, over HTTP, and the types that they are of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.receipts.types.json_schema import check_schema
from attestlab.receipts.types.shapes import ReceiptTypeIn
from attestlab.receipts.types.tables import ReceiptTypeRecord
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer
from support.orgs import TenantClients

RECEIPTS = "/v1/receipts"
DELIVERY: dict[str, Any] = {
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer"}, "note": {"type": "string"}},
    "additionalProperties": False,
}


@dataclass
class ReceiptDesk:
    """A tenant that mints receipts over HTTP: its clients, one with a key of every scope, and its issuer."""

    clients: TenantClients
    client: httpx.Client
    issuer: dict[str, Any]
    caller: Caller

    @property
    def lab(self) -> Installation:
        return self.clients.lab

    def body(self, **changes: Any) -> dict[str, Any]:
        """The body of a mint that is accepted."""
        body = {"receipt_type": "delivery", "issuer_id": self.issuer["id"], "payload": {"n": 3}}
        return {**body, "subject": "parcel 7", "metadata": {"route": "R-1"}, **changes}

    def mint(self, **changes: Any) -> dict[str, Any]:
        answer = self.client.post(RECEIPTS, json=self.body(**changes))
        assert answer.status_code == 201, answer.text
        receipt: dict[str, Any] = answer.json()
        return receipt

    def bundle(self, receipt: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.get(f"{RECEIPTS}/{receipt['receipt_id']}/proof-bundle")
        assert answer.status_code == 200, answer.text
        bundle: dict[str, Any] = answer.json()
        return bundle

    def verify(self, receipt: dict[str, Any], **more: Any) -> dict[str, Any]:
        with self.clients.anonymous() as anyone:
            answer = anyone.post(f"{RECEIPTS}/verify", json={"receipt_id": receipt["receipt_id"], **more})
        assert answer.status_code == 200, answer.text
        verified: dict[str, Any] = answer.json()
        return verified

    def change(self, receipt: dict[str, Any], verb: str, **body: Any) -> httpx.Response:
        """Revoke or redact a receipt."""
        return self.client.post(f"{RECEIPTS}/{receipt['receipt_id']}/{verb}", json=body)

    def list_statuses(self) -> None:
        """Publish a status list that covers what was minted so far."""
        with self.lab.storage.write() as tx:
            self.lab.list_statuses(tx)


@contextmanager
def open_desk(lab: Installation, *, plan: Plan = Plan.ENTERPRISE) -> Iterator[ReceiptDesk]:
    """Serve a lab for a new tenant with an issuer and the type `delivery`."""
    tenant = lab.orgs.create_tenant("Northfield Parcels", plan=plan)
    caller = lab.orgs.service_caller(tenant.tenant_id)
    create_type(lab, caller)
    with serve_in_thread(lab) as url:
        clients = TenantClients(lab, url, tenant)
        with clients.with_key() as client:
            yield ReceiptDesk(clients, client, register_issuer(client), caller)


def create_type(lab: Installation, caller: Caller, version: str = "1.0.0", **fields: Any) -> ReceiptTypeRecord:
    """Create a type, or a version of one."""
    schema = fields.pop("schema", DELIVERY)
    body = ReceiptTypeIn.model_validate({"name": "delivery", "version": version, "schema": schema, **fields})
    return lab.receipt_types.create(body, check_schema(schema), caller=caller)


@dataclass
class ExternalKey:
    """A key whose private half the service never has."""

    private: Any
    kid: str

    def sign(self, signing_input: str) -> str:
        """The compact JWS over a signing input."""
        signature = signing.sign(Algorithm.ED25519, self.private, signing_input.encode())
        return f"{signing_input}.{b64url_encode(signature)}"


def add_external_key(desk: ReceiptDesk, kid: str = "external") -> ExternalKey:
    """Register an external Ed25519 key of the desk's issuer."""
    private = signing.generate(Algorithm.ED25519)
    public = b64url_encode(signing.spki(private.public_key()))
    key = {"kid": kid, "alg": "Ed25519", "public_key_b64url": public}
    answer = desk.client.post(f"/v1/issuers/{desk.issuer['id']}/keys", json=key)
    assert answer.status_code == 201, answer.text
    return ExternalKey(private, kid)
