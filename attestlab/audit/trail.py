"""Attempts that were denied, in the trail of whoever made them, or of the operator where nobody knows who it was."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab.core.records import audit
from attestlab.core.records.audit import AuditEntry
from attestlab.identity.rules import SignInRefused
from attestlab.orgs import store
from attestlab.orgs.rules import Caller
from attestlab.web.application import OnBlocked
from attestlab.web.request import Request

ATTEMPT = "request.denied"
BLOCK = "address.block"
SIGN_IN = "session.create"
ADDRESS_DIGITS = 16  # of the SHA-256: enough to see that attempts are alike


class Stranger:
    """Whoever presented a credential that was never ours."""

    actor_type = "SERVICE"
    actor_id = "stranger"


def denied(tx: Transaction, request: Request, fault: AttestLabError) -> None:
    """Record an attempt at what the caller may not do."""
    told = {"code": fault.code, "path": request.path[:200], "peer": request.peer, "request_id": request.request_id}
    if isinstance(fault, SignInRefused):
        audit.record(tx, _sign_in(tx, fault, request.now, told))
        return
    caller = request.caller or (fault.known if isinstance(fault, AuthInvalid) else None)
    known = caller if isinstance(caller, Caller) else None
    entry = AuditEntry(
        tenant_id=known.tenant_id if known else store.operator_id(tx),
        actor=known or Stranger(),
        action=ATTEMPT,
        resource_type="route",
        resource_id=f"{request.route.method} {request.route.path}",
        at=request.now,
        outcome="FAILURE",
        metadata=told,
    )
    audit.record(tx, entry)


def blocked(tx: Transaction, block: OnBlocked) -> None:
    """Record that an address was blocked, with the tenant whose credential it used, else with the operator."""
    caller = block.caller if isinstance(block.caller, Caller) else None
    entry = AuditEntry(
        tenant_id=caller.tenant_id if caller else store.operator_id(tx),
        actor=caller or Stranger(),
        action=BLOCK,
        resource_type="address",
        resource_id=block.address,
        at=block.at,
        outcome="FAILURE",
        metadata={"request_id": block.request_id},
    )
    audit.record(tx, entry)


def _sign_in(tx: Transaction, fault: SignInRefused, at: datetime, told: dict[str, Any]) -> AuditEntry:
    """A login that failed: with the person whose address it was, else with the operator, and never the address."""
    return AuditEntry(
        tenant_id=fault.tenant_id or store.operator_id(tx),
        actor=Stranger(),
        action=SIGN_IN,
        resource_type="user",
        resource_id=str(fault.user_id or f"sha256:{fault.address_sha256[:ADDRESS_DIGITS]}"),
        at=at,
        outcome="FAILURE",
        metadata=told,
    )
