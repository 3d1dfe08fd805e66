"""Domain proof: an issuer proves control of its domain with a TXT record that only the domain's operator can write.

The record's value is an HMAC over tenant, issuer and domain, so it need not be stored, cannot be guessed, and is
useless for other issuers. A verified record raises the trust tier from SELF_SIGNED to BASIC, in the log. If the
platform has ever decided on the issuer's tier, only the platform may change it again (CONTRACT section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Conflict
from attestlab.issuers import store
from attestlab.issuers.rules import IssuerStatus, TrustTier
from attestlab.issuers.service import Issuers
from attestlab.issuers.tables import IssuerRecord
from attestlab.issuers.txt_resolver import Resolver
from attestlab.orgs.rules import Caller

HasTierDecision = Callable[[Execute, UUID], bool]
LABEL = "_attestlab-challenge"
VALUE_PREFIX = "attestlab-domain-verification="


@dataclass(frozen=True)
class Challenge:
    """The TXT record to publish in the DNS of `domain`, and whether it was verified (`is_proven`)."""

    issuer_id: UUID
    domain: str
    record_name: str
    record_value: str
    trust_tier: str
    proven_at: datetime | None

    @property
    def is_proven(self) -> bool:
        """Whether the domain was verified: the tier is BASIC or higher, or the record was found.

        A SELF_SIGNED issuer whose record was found is one on whose tier the platform decided.
        """
        return self.trust_tier != TrustTier.SELF_SIGNED or self.proven_at is not None


class DomainProofs:
    """Domain challenges of issuers, their verification, and the resulting change of the trust tier.

    `has_tier_decision` returns whether the platform ever decided on an issuer's trust tier.
    `tx` is the unit of work to join; without it, a verb commits its own.
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
        """Get the challenge that proves the issuer's control of its domain.

        Raises:
            NotFound: the caller's tenant has no such issuer.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, issuer_id, tenant_id=caller.tenant_id)
        return self._build_challenge(row)

    def look_up(self, challenge: Challenge) -> None:
        """Look up the challenge's record in the DNS; takes seconds if no name server answers.

        Raises:
            Conflict: the DNS does not have the record.
            Unavailable: no name server answered.
        """
        if challenge.record_value not in self.resolver.lookup_txt(challenge.record_name):
            raise Conflict(
                f"The DNS has no TXT record {challenge.record_name} with the value {challenge.record_value}. "
                "Publish it, wait until the DNS has it, and check again.",
                details={"reason": "record_not_found", "record_name": challenge.record_name},
            )

    def accept(self, verified: Challenge, *, caller: Caller, tx: Transaction | None = None) -> Challenge:
        """Record that a challenge was verified, and raise a SELF_SIGNED issuer to BASIC; higher tiers stay.

        The tier also stays if the platform ever decided on it, because no tenant may undo that decision.

        Raises:
            NotFound: the caller's tenant has no such issuer.
            Conflict: the domain has changed since the look-up, or the issuer is not ACTIVE.
        """
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, verified.issuer_id, tenant_id=caller.tenant_id)
            current = self._build_challenge(row)
            if current.is_proven:
                return current
            if current.record_value != verified.record_value:
                raise Conflict("The issuer's domain changed during the look-up. Check again.")
            if row.status != IssuerStatus.ACTIVE:
                message = f"The issuer is {row.status}; only an ACTIVE issuer can prove its domain."
                raise Conflict(message, details={"issuer_status": row.status})
            lift = not self.has_tier_decision(tx.exec, verified.issuer_id)
            return self._build_challenge(
                self.issuers.set_domain_proven(verified.issuer_id, lift=lift, caller=caller, tx=tx).issuer
            )

    def _build_challenge(self, issuer: IssuerRecord) -> Challenge:
        bound = {"proof": "domain", "tenant_id": str(issuer.tenant_id), "issuer_id": str(issuer.id)}
        token = self.keyring.keyed_sha256(canonical({**bound, "domain": issuer.domain}))
        return Challenge(
            issuer.id,
            issuer.domain,
            f"{LABEL}.{issuer.domain}",
            VALUE_PREFIX + b64url_encode(token),
            issuer.trust_tier,
            issuer.domain_proven_at,
        )
