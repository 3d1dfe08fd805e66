"""Signing in, as a client does it: login, refresh, logout, and what a credential opens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from attestlab.core.crypto import passwords
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.orgs import store as org_store
from attestlab.orgs.service import TenantCreated
from attestlab.orgs.tables import TenantRecord, UserRecord

FAILED_SIGN_IN = {
    "code": "AUTH_INVALID",
    "message": "The address or the password is wrong, or the address is not verified yet. Follow the link in the mail "
    "that was sent to it; POST /v1/consumer/verify-email/resend sends another.",
    "http_status": 401,
}
INVALID_CREDENTIALS = {"code": "AUTH_INVALID", "message": "The credentials are not valid.", "http_status": 401}


@dataclass
class AuthClient:
    """A client in front of a served installation, and a tenant whose owner may sign in."""

    client: httpx.Client
    tenant: TenantCreated

    def login(self, *, password: str | None = None, email: str | None = None, **headers: str) -> httpx.Response:
        """A login as the owner, or with what is given."""
        body = {"email": email or self.tenant.owner_email, "password": password or self.tenant.owner_password}
        return self.client.post("/v1/auth/login", json=body, headers=headers)

    def signed_in(self, **changes: str) -> dict[str, Any]:
        """The tokens of a fresh session."""
        answer = self.login(**changes)
        assert answer.status_code == 200, answer.text
        tokens: dict[str, Any] = answer.json()
        return tokens

    def refresh(self, refresh_token: str, **headers: str) -> httpx.Response:
        return self.client.post("/v1/auth/refresh", json={"refresh_token": refresh_token}, headers=headers)

    def logout(self, tokens: dict[str, Any], body: dict[str, Any] | None = None) -> httpx.Response:
        return self.client.post("/v1/auth/logout", json=body, headers=bearer_header(tokens["access_token"]))

    def me(self, access_token: str) -> httpx.Response:
        return self.client.get("/v1/me", headers=bearer_header(access_token))

    def change_password(self, tokens: dict[str, Any], current: str, new: str) -> httpx.Response:
        body = {"current_password": current, "new_password": new}
        return self.client.post("/v1/me/password", json=body, headers=bearer_header(tokens["access_token"]))


def bearer_header(access_token: str) -> dict[str, str]:
    """The header that presents an access token."""
    return {"Authorization": f"Bearer {access_token}"}


def read_refusal(answer: httpx.Response) -> dict[str, Any]:
    """What a refusal says, but for the request's own id."""
    body: dict[str, Any] = answer.json()
    details = body.pop("details")
    assert set(details) == {"request_id"}
    return body


def add_user(lab: Installation, tenant: TenantCreated, email: str, password: str, **columns: Any) -> UserRecord:
    """A person of a tenant, as an invitation that was accepted would leave them."""
    now = lab.clock.now()
    row = UserRecord(
        id=new_id(now),
        tenant_id=tenant.tenant_id,
        org_id=tenant.org_id,
        email=email,
        name="Ada Lovelace",
        password_hash=passwords.hash_password(password),
        roles="member",
        created_at=now,
    )._replace(**columns)
    with lab.storage.write() as tx:
        return audited_write.insert(
            tx, org_store.users, row, AuditContext(tenant.tenant_id, COMMAND_LINE, "user.create", now)
        )


def change_user(lab: Installation, tenant: TenantCreated, *, email: str | None = None, **changes: Any) -> None:
    """Change the owner's row, or another's, as the service would: with its line in the trail."""
    users, now = org_store.users, lab.clock.now()
    whose = users.c.email == (email or tenant.owner_email)
    with lab.storage.write() as tx:
        row = UserRecord._make(tx.exec(users.select().where(whose)).one())
        audited_write.change(tx, users, row, changes, AuditContext(tenant.tenant_id, COMMAND_LINE, "user.update", now))


def convert_to_consumer(lab: Installation, tenant: TenantCreated) -> None:
    """Turn a tenant into a consumer's own."""
    tenants, now = org_store.tenants, lab.clock.now()
    with lab.storage.write() as tx:
        row = TenantRecord._make(tx.exec(tenants.select().where(tenants.c.id == tenant.tenant_id)).one())
        deed = AuditContext(tenant.tenant_id, COMMAND_LINE, "tenant.update", now)
        audited_write.change(tx, tenants, row, {"realm": "consumer"}, deed)
