"""Verification profiles: a verifier names one that it made, whose policies apply together with the issuer's."""

from __future__ import annotations

from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller, validate_display_name
from attestlab.policy import store
from attestlab.policy.events import ProfileCreated
from attestlab.policy.tables import VerificationProfileRecord


class Profiles:
    """Service for verification profiles: create, list, get. Profiles are never removed, so a bound policy keeps its
    target.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def create(
        self, name: str, *, description: str | None = None, caller: Caller, tx: Transaction | None = None
    ) -> VerificationProfileRecord:
        """Create a profile of the caller's tenant; without a policy it adds no conditions.

        Raises:
            ValidationFailed: the name is not one line of text.
            QuotaExceeded: the plan allows no more profiles.
        """
        name = validate_display_name("name", name)
        with self.storage.write(tx) as tx:
            limit = quotas.allowance_of(caller).verification_profiles
            quotas.require_capacity(
                "verification_profiles", limit, lambda: store.count_profiles(tx.exec, caller.tenant_id)
            )
            now = self.clock.now()
            row = VerificationProfileRecord(
                id=new_id(now), tenant_id=caller.tenant_id, name=name, description=description, created_at=now
            )
            deed = AuditContext(caller.tenant_id, caller, "verification_profile.create", now)
            profile = audited_write.insert(tx, store.profiles, row, deed)
            outbox.publish(tx, caller.tenant_id, ProfileCreated(profile.id, name, now), at=now)
            return profile

    def page(self, *, caller: Caller, before: UUID | None = None, limit: int = 50) -> list[VerificationProfileRecord]:
        """Return a page of the tenant's profiles, newest first, starting after `before`."""
        with self.storage.read() as connection:
            return store.list_profiles(connection.execute, tenant_id=caller.tenant_id, before=before, limit=limit)

    def get(self, profile_id: UUID, *, caller: Caller) -> VerificationProfileRecord:
        """Return one of the tenant's profiles.

        Raises:
            NotFound: the caller's tenant has no profile with this id.
        """
        with self.storage.read() as connection:
            return store.get_profile(connection.execute, profile_id, tenant_id=caller.tenant_id)
