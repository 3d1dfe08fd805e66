"""Proof that an issuer holds its domain: a TXT record that only whoever runs the domain can write.

The text is an HMAC over tenant, issuer and domain, so it need not be stored, cannot be guessed,
and proves nothing for anybody else. Found, it lifts SELF_SIGNED to BASIC, in the log; but where
the platform decided on the issuer's tier, only the platform decides anew (CONTRACT section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.errors import Conflict
from attestlab.core.strict_json import b64url_encode
from attestlab.issuers import store
from attestlab.issuers.rules import IssuerStatus, TrustTier
from attestlab.issuers.service import Issuers
from attestlab.issuers.txt_resolver import Resolver
from attestlab.orgs.rules import Caller

HasTierDecision = Callable[[Execute, UUID], bool]
LABEL = "_attestlab-challenge"
VALUE_PREFIX = "attestlab-domain-verification="


@dataclass(frozen=True)
class Challenge:
    """What to write into the DNS of `domain`; `is_proven` says that it was found once."""

    issuer_id: UUID
    domain: str
    record_name: str
    record_value: str
    trust_tier: str
    proven_at: datetime | None

    @property
    def is_proven(self) -> bool:
        """From BASIC on the domain was verified; below, where it was found and the platform decided on the tier."""
        return self.trust_tier != TrustTier.SELF_SIGNED or self.proven_at is not None


class DomainProofs:
    """Challenges, and what becomes of an issuer that meets its own.

    `has_tier_decision` tells whether the platform ever decided on an issuer's trust tier.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        keyring: Keyring,
        issuers: Issuers,
        resolver: Resolver,
        has_tier_decision: HasTierDecision,
    ) -> None:
        self.storage = storage
        self.keyring = keyring
        self.issuers = issuers
        self.resolver = resolver
        self.has_tier_decision = has_tier_decision

    def get_challenge(self, issuer_id: UUID, *, caller: Caller) -> Challenge:
        """What proves that the issuer holds its domain.

        Raises:
            NotFound: there is no such issuer in the caller's tenant.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, issuer_id, tenant_id=caller.tenant_id)
        return self._build_challenge(dict(row._mapping))

    def look_up(self, challenge: Challenge) -> None:
        """Find the challenge's record in the DNS; takes seconds where no name server answers.

        Raises:
            Conflict: the record is not there.
            Unavailable: no name server answered.
        """
        if challenge.record_value not in self.resolver.lookup_txt(challenge.record_name):
            raise Conflict(
                f"There is no TXT record {challenge.record_name} with the text {challenge.record_value} yet; "
                "write it, and check again when the DNS has it.",
                details={"reason": "record_not_found", "record_name": challenge.record_name},
            )

    def accept(self, found: Challenge, *, caller: Caller) -> Challenge:
        """Note that a challenge was found, and lift the issuer to BASIC for it; one that is beyond it stays there.

        So does one on whose tier the platform decided: no tenant undoes that by itself.

        Raises:
            NotFound: there is no such issuer in the caller's tenant.
            Conflict: its domain changed meanwhile, or it is not ACTIVE.
        """
        with self.storage.write() as tx:
            row = store.get(tx.exec, found.issuer_id, tenant_id=caller.tenant_id)
            now = self._build_challenge(dict(row._mapping))
            if now.is_proven:
                return now
            if now.record_value != found.record_value:
                raise Conflict("The domain changed while its record was looked up; check again.")
            if row.status != IssuerStatus.ACTIVE:
                raise Conflict(f"The issuer is {row.status}.", details={"issuer_status": row.status})
            lift = not self.has_tier_decision(tx.exec, found.issuer_id)
            return self._build_challenge(
                self.issuers.set_domain_proven(found.issuer_id, lift=lift, caller=caller).issuer
            )

    def _build_challenge(self, issuer: Mapping[str, Any]) -> Challenge:
        bound = {"proof": "domain", "tenant_id": str(issuer["tenant_id"]), "issuer_id": str(issuer["id"])}
        token = self.keyring.keyed_sha256(canonical({**bound, "domain": issuer["domain"]}))
        return Challenge(
            issuer["id"],
            issuer["domain"],
            f"{LABEL}.{issuer['domain']}",
            VALUE_PREFIX + b64url_encode(token),
            issuer["trust_tier"],
            issuer["domain_proven_at"],
        )
