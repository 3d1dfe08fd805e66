"""Attempts that were denied, in the trail of whoever made them, or of the operator where nobody knows who it was."""

from __future__ import annotations

from attestlab.core import audit
from attestlab.core.audit import AuditEntry
from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab.core.transaction import Transaction
from attestlab.orgs import store
from attestlab.orgs.rules import Caller
from attestlab.web.call import Call

ATTEMPT = "request.denied"


class Stranger:
    """Whoever presented a credential that was never ours."""

    actor_type = "SERVICE"
    actor_id = "stranger"


def denied(tx: Transaction, call: Call, fault: AttestLabError) -> None:
    """Record an attempt at what the caller may not do."""
    caller = call.caller or (fault.known if isinstance(fault, AuthInvalid) else None)
    known = caller if isinstance(caller, Caller) else None
    entry = AuditEntry(
        tenant_id=known.tenant_id if known else store.operator_id(tx),
        actor=known or Stranger(),
        action=ATTEMPT,
        resource_type="route",
        resource_id=f"{call.route.method} {call.route.path}",
        at=call.now,
        outcome="FAILURE",
        metadata={"code": fault.code, "path": call.path[:200], "peer": call.peer, "request_id": call.request_id},
    )
    audit.record(tx, entry)
