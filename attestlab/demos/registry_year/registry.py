"""What the registry of the demo does with attestations and keys, through the services."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import NamedTuple
from uuid import UUID

from attestlab.attestations.minting import MintRequest
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import Transaction
from attestlab.demos.registry_year.claims import draw_claims
from attestlab.demos.registry_year.rhythms import Batch
from attestlab.installation import Installation
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.service import IssuerWithKeys
from attestlab.issuers.tables import IssuerKeyRecord
from attestlab.orgs.rules import Caller

MAX_EXPIRED = 200  # of one sweep


class MintedDocument(NamedTuple):
    """An attestation, whatever became of it, and the SHA-256 of its document (hex)."""

    attestation_id: UUID
    document_hash: str


class RegistryDesk:
    """The issuers by name, and what they minted; every verb joins the transaction that it gets."""

    def __init__(self, lab: Installation, caller: Caller, issuers: Sequence[IssuerWithKeys], *, seed: int) -> None:
        self.lab = lab
        self._caller = caller
        self._random = Random(f"{seed}:registry")
        self._ids = {each.issuer.name: each.issuer.id for each in issuers}
        self._valid: defaultdict[str, list[tuple[UUID, MintRequest]]] = defaultdict(list)
        self._minted: defaultdict[str, list[MintedDocument]] = defaultdict(list)

    def get_id(self, issuer: str) -> UUID:
        """Return the id of an issuer."""
        return self._ids[issuer]

    def list_minting_issuers(self) -> Sequence[str]:
        """Return the issuers that have minted something."""
        return list(self._minted)

    def list_minted(self, issuer: str) -> Sequence[MintedDocument]:
        """Return what the issuer minted."""
        return self._minted[issuer]

    def get_newest(self, issuer: str) -> UUID:
        """Return the newest attestation of an issuer that is neither revoked nor replaced."""
        attestation_id, _ = self._valid[issuer][-1]
        return attestation_id

    def mint(self, batch: Batch, tx: Transaction) -> None:
        """Mint a batch with the issuer's active key."""
        key = self._get_active_key(batch.issuer, tx)
        for _ in range(batch.size):
            request = MintRequest(
                issuer_id=self.get_id(batch.issuer),
                kid=key.kid,
                schema=batch.schema,
                claims=draw_claims(batch.schema, batch.issuer, self.lab.clock.now(), self._random),
                document_hash=self._random.randbytes(32).hex(),
                expiry_from_claims=batch.schema == "membership-card",
            )
            minted = self.lab.attestations.mint(request, caller=self._caller, tx=tx)
            self._valid[batch.issuer].append((minted.id, request))
            self._minted[batch.issuer].append(MintedDocument(minted.id, str(request.document_hash)))

    def revoke(self, issuer: str, reason: str, caller: Caller, tx: Transaction) -> None:
        """Revoke one of the issuer's newest attestations."""
        attestation_id, _ = self._draw_newest(issuer)
        self.lab.attestations.revoke(attestation_id, reason=reason, caller=caller, tx=tx)

    def supersede(self, issuer: str, caller: Caller, tx: Transaction) -> None:
        """Replace one of the issuer's newest attestations with one whose claims are drawn again."""
        attestation_id, old = self._draw_newest(issuer)
        claims = draw_claims(old.schema, issuer, self.lab.clock.now(), self._random)
        kid = self._get_active_key(issuer, tx).kid
        corrected = MintRequest(
            issuer_id=old.issuer_id,
            kid=kid,
            schema=old.schema,
            claims=claims,
            document_hash=self._random.randbytes(32).hex(),
        )
        self.lab.attestations.supersede(attestation_id, corrected, caller=caller, tx=tx)

    def expire(self, tx: Transaction) -> None:
        """Let what is due expire, as a running server does by itself."""
        self.lab.attestations.expire_due(tx, limit=MAX_EXPIRED)

    def rotate(self, issuer: str, caller: Caller, tx: Transaction) -> None:
        """Replace the issuer's active key with its next one."""
        old = self._get_active_key(issuer, tx)
        new_kid = _name_next(old.kid)
        self.lab.signing_keys.rotate(old.kid, new_kid=new_kid, alg=Algorithm(old.alg), caller=caller, tx=tx)

    def lose_key(self, issuer: str, reason: str, *, before_report: timedelta, caller: Caller, tx: Transaction) -> None:
        """Report the issuer's key as compromised since a time before the report, and give it another one."""
        lost = self._get_active_key(issuer, tx)
        since = self.lab.clock.now() - before_report
        self.lab.signing_keys.compromise(lost.kid, reason=reason, compromised_at=since, caller=caller, tx=tx)
        new_kid, alg = _name_next(lost.kid), Algorithm(lost.alg)
        self.lab.signing_keys.add(self.get_id(issuer), kid=new_kid, alg=alg, caller=caller, tx=tx)

    def _draw_newest(self, issuer: str) -> tuple[UUID, MintRequest]:
        valid = self._valid[issuer]
        return valid.pop(self._random.randrange(max(0, len(valid) - 20), len(valid)))

    def _get_active_key(self, issuer: str, tx: Transaction) -> IssuerKeyRecord:
        found = self.lab.issuers.get(self.get_id(issuer), caller=self._caller, tx=tx)
        return next(key for key in found.keys if key.status == KeyStatus.ACTIVE)


def _name_next(kid: str) -> str:
    """Return the kid after this one.

    >>> _name_next("delta-1")
    'delta-2'
    """
    name, _, number = kid.rpartition("-")
    return f"{name}-{int(number) + 1}"
