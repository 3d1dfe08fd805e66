"""The operator's issuer that attests what consumers protect.

`attestlab init` makes it, a server at its start if an earlier version made the installation, and the first protection
if neither has. Its key is sealed, so no migration can make it. Each way looks under the writer's lock, so there is
only one.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.clock import Clock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import ValidationFailed
from attestlab.core.records import audited_write
from attestlab.core.records.actors import SystemActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers import store as issuer_store
from attestlab.issuers.rules import Custody, KeyStatus, normalize_domain
from attestlab.issuers.service import Issuers
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import Caller, Scope
from attestlab.protections import store
from attestlab.protections.tables import PlatformIssuerRecord

PURPOSE = "content-protection"
NAME = "Content protection"
OTHER_DOMAIN = "attestlab.invalid"
"""The domain of an issuer whose service has an address instead of a name; no one can own it (RFC 2606)."""
ACTOR = SystemActor("attestlab-protections")


class SigningPlace(NamedTuple):
    """The issuer and its key that attest protections."""

    issuer_id: UUID
    kid: str


class PlatformIssuer:
    """Makes the issuer and finds it. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, issuers: Issuers, portal_url: str) -> None:
        self.storage = storage
        self.clock = clock
        self.issuers = issuers
        self.domain = _choose_domain(portal_url)

    def find(self, connection: Connection) -> SigningPlace | None:
        """Return the issuer with its newest active managed key, or with its newest key if none is active."""
        found = store.find_platform_issuer(connection.execute, PURPOSE)
        if found is None:
            return None
        keys = issuer_store.list_keys(connection.execute, [found.issuer_id])[found.issuer_id]
        usable = [key for key in keys if key.status == KeyStatus.ACTIVE and key.custody == Custody.MANAGED]
        return SigningPlace(found.issuer_id, (usable or keys)[-1].kid)

    def ensure(self, *, tx: Transaction | None = None) -> None:
        """Make the issuer with its key, unless there is one."""
        with self.storage.write(tx) as tx:
            if store.find_platform_issuer(tx.exec, PURPOSE) is not None:
                return
            caller = build_operator_caller(tx.exec, actor=None)
            profile = {"name": NAME, "domain": self.domain}
            made = self.issuers.create(profile, alg=Algorithm.ED25519, caller=caller, tx=tx)
            now = self.clock.now()
            row = PlatformIssuerRecord(PURPOSE, made.issuer.id, now)
            context = AuditContext(caller.tenant_id, caller, "platform_issuer.create", now)
            audited_write.insert(tx, store.platform_issuers, row, context)


def build_operator_caller(execute: Execute, *, actor: Caller | None) -> Caller:
    """Return the operator's tenant as a caller on whose behalf `actor`, a consumer, acts; None is the service itself.

    The audit trail names the actor; issuer, policies and limits are the operator's.
    """
    tenant = org_store.get_operator(execute)
    return Caller(
        tenant.id,
        ACTOR.actor_type if actor is None else actor.actor_type,
        ACTOR.actor_id if actor is None else actor.actor_id,
        frozenset({Scope.ATTESTATIONS_MINT, Scope.ATTESTATIONS_REVOKE, Scope.ISSUERS_WRITE}),
        tenant.plan,
        adjusted=tenant.adjusted,
    )


def _choose_domain(portal_url: str) -> str:
    """Return the host of the service, if it is a DNS name."""
    try:
        return normalize_domain(urlsplit(portal_url).hostname or "")
    except ValidationFailed:
        return OTHER_DOMAIN
