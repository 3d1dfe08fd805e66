"""Denied attempts, recorded in the trail of the caller's tenant, or of the operator if the caller is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab.core.records import audit
from attestlab.core.records.actors import AnonymousActor
from attestlab.core.records.audit import AuditEntry
from attestlab.identity.rules import SignInFailed
from attestlab.orgs import store
from attestlab.orgs.rules import Caller
from attestlab.web.application import BlockedClient
from attestlab.web.request import Request

ATTEMPT = "request.denied"
BLOCK = "address.block"
SIGN_IN = "session.create"
ADDRESS_DIGITS = 16  # of the SHA-256: enough to recognise repeated attempts
UNKNOWN_ACTOR = AnonymousActor("stranger")  # the actor of a request whose credential was never valid


def record_denied(tx: Transaction, request: Request, error: AttestLabError) -> None:
    """Record an attempt at an action that the caller may not do."""
    metadata = {"code": error.code, "path": request.path[:200], "peer": request.peer, "request_id": request.request_id}
    if "required_scope" in error.details:
        metadata["required_scope"] = str(error.details["required_scope"])
    if isinstance(error, SignInFailed):
        audit.record(tx, _failed_sign_in(tx, error, request.now, metadata))
        return
    caller = request.caller or (error.known if isinstance(error, AuthInvalid) else None)
    known = caller if isinstance(caller, Caller) else None
    entry = AuditEntry(
        tenant_id=known.tenant_id if known else store.get_operator_id(tx),
        actor=known or UNKNOWN_ACTOR,
        action=ATTEMPT,
        resource_type="route",
        resource_id=f"{request.route.method} {request.route.path}",
        at=request.now,
        outcome="FAILURE",
        metadata=metadata,
    )
    audit.record(tx, entry)


def record_blocked(tx: Transaction, block: BlockedClient) -> UUID:
    """Record that a client was blocked, with the tenant whose credential it used, otherwise with the operator.

    Returns the id of that tenant.
    """
    caller = block.caller if isinstance(block.caller, Caller) else None
    tenant_id = caller.tenant_id if caller else store.get_operator_id(tx)
    entry = AuditEntry(
        tenant_id=tenant_id,
        actor=caller or UNKNOWN_ACTOR,
        action=BLOCK,
        resource_type="address",
        resource_id=block.address,
        at=block.at,
        outcome="FAILURE",
        metadata={"request_id": block.request_id},
    )
    audit.record(tx, entry)
    return tenant_id


def _failed_sign_in(tx: Transaction, error: SignInFailed, at: datetime, metadata: Mapping[str, object]) -> AuditEntry:
    """Build the entry of a failed login: with the account's tenant, otherwise the operator; never with the address.

    The operator is read in both cases, so that the time of the answer does not tell whether an account exists.
    """
    operator_id = store.get_operator_id(tx)
    return AuditEntry(
        tenant_id=error.tenant_id or operator_id,
        actor=UNKNOWN_ACTOR,
        action=SIGN_IN,
        resource_type="user",
        resource_id=str(error.user_id or f"sha256:{error.address_sha256[:ADDRESS_DIGITS]}"),
        at=at,
        outcome="FAILURE",
        metadata=metadata,
    )
