"""The verbs of issuers: register, look up, change the profile, add and use keys."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, update

from attestlab.core import audit, outbox, signing
from attestlab.core.audit import AuditEntry
from attestlab.core.clock import Clock
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.events import Event
from attestlab.core.ids import new_id
from attestlab.core.keyring import Keyring
from attestlab.core.rows import MEMBER, row_sha256
from attestlab.core.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.storage import AnyRow, Storage, Transaction
from attestlab.issuers import rules, store
from attestlab.issuers.events import IssuerCreated, IssuerSuspended, IssuerUpdated, KeyCreated
from attestlab.issuers.rules import Custody, IssuerStatus, KeyStatus, RiskRating, TrustTier
from attestlab.issuers.store import SigningKey
from attestlab.log import entries
from attestlab.log.entries import EntryType
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller

KID_LENGTH = 6
_STANDING = frozenset({"status", "trust_tier", "risk_rating", "jurisdiction"})  # what the log tells of an issuer
_CLEANERS = {
    "domain": rules.domain,
    "jurisdiction": rules.jurisdiction,
    "primary_color": lambda text: rules.color("primary_color", text),
    "accent_color": lambda text: rules.color("accent_color", text),
    "logo_url": rules.logo_url,
}


@dataclass(frozen=True)
class IssuerWithKeys:
    """An issuer's row (by column) and its keys', oldest first."""

    issuer: Mapping[str, Any]
    keys: Sequence[Mapping[str, Any]]


class Issuers:
    """Who attests, and with which keys; every change stands in the log."""

    def __init__(self, *, storage: Storage, keyring: Keyring, clock: Clock, log: Log) -> None:
        self.storage = storage
        self.keyring = keyring
        self.clock = clock
        self.log = log
        self._unsealed = lru_cache(maxsize=1024)(self._unseal)

    def create(
        self, profile: Mapping[str, str | None], *, caller: Caller, alg: Algorithm | None = None, kid: str | None = None
    ) -> IssuerWithKeys:
        """Register an issuer; with `alg` it gets its first managed key.

        Raises:
            ValidationFailed: a part of the profile, or a `kid` without `alg`, is not acceptable.
            Conflict: the kid is taken.
        """
        if kid is not None and alg is None:
            raise ValidationFailed.of("/kid", "needs_alg", "Send alg with kid, so that a key is made.")
        with self.storage.write() as tx:
            now = self.clock.now()
            row = _new_issuer(_cleaned(profile), caller, now)
            tx.add(store.issuers, row)
            self._log_standing(tx, row, now)
            event = IssuerCreated(issuer_id=row["id"], name=row["name"], domain=row["domain"], created_at=now)
            self._tell_issuer(tx, caller, event, "issuer.create", row, now)
            keys = [self._add_key(tx, row["id"], kid or _new_kid(alg), alg, None, caller, now)] if alg else []
        return IssuerWithKeys(row, keys)

    def get(self, issuer_id: UUID, *, caller: Caller) -> IssuerWithKeys:
        """The caller's issuer with its keys.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        with self.storage.read() as connection:
            row = store.owned(connection, issuer_id, tenant_id=caller.tenant_id)
            return _with_keys(connection, [row])[0]

    def page(
        self, *, caller: Caller, before: UUID | None = None, offset: int = 0, limit: int = 50
    ) -> list[IssuerWithKeys]:
        """The caller's issuers, newest first."""
        with self.storage.read() as connection:
            found = store.page(connection, tenant_id=caller.tenant_id, before=before, offset=offset, limit=limit)
            return _with_keys(connection, found)

    def update(self, issuer_id: UUID, changes: Mapping[str, str | None], *, caller: Caller) -> IssuerWithKeys:
        """Change the profile; a new jurisdiction is governance, so it stands in the log.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
            ValidationFailed: a change is not acceptable.
        """
        with self.storage.write() as tx:
            tx.flush()
            old = dict(store.owned(tx.connection, issuer_id, tenant_id=caller.tenant_id)._mapping)
            changed = {name: value for name, value in _cleaned(changes).items() if old[name] != value}
            if changed:
                self._change(tx, old, changed, caller)
            return _with_keys(tx.connection, [store.owned(tx.connection, issuer_id, tenant_id=caller.tenant_id)])[0]

    def set_standing(
        self,
        issuer_id: UUID,
        *,
        caller: Caller,
        status: IssuerStatus | None = None,
        trust_tier: TrustTier | None = None,
        risk_rating: RiskRating | None = None,
    ) -> IssuerWithKeys:
        """Change how the platform regards an issuer; whoever calls this has decided that it may be done.

        Raises:
            NotFound: there is none of that id in the caller's tenant.
        """
        asked = {"status": status, "trust_tier": trust_tier, "risk_rating": risk_rating}
        with self.storage.write() as tx:
            tx.flush()
            old = dict(store.owned(tx.connection, issuer_id, tenant_id=caller.tenant_id)._mapping)
            changed = {name: word.value for name, word in asked.items() if word is not None and old[name] != word}
            if changed:
                self._change(tx, old, changed, caller)
            return _with_keys(tx.connection, [store.owned(tx.connection, issuer_id, tenant_id=caller.tenant_id)])[0]

    def _change(self, tx: Transaction, old: dict[str, Any], changed: dict[str, Any], caller: Caller) -> None:
        now = self.clock.now()
        row = {**old, **changed, "updated_at": now}
        if not _STANDING.isdisjoint(changed):
            index = self._log_standing(tx, row, now)
            if changed.get("status") == IssuerStatus.REVOKED:
                changed["revoked_index"] = row["revoked_index"] = index
        tx.exec(update(store.issuers).where(store.issuers.c.id == old["id"]).values(**changed, updated_at=now))
        event: Event = IssuerUpdated(issuer_id=old["id"], changed=",".join(sorted(changed)), updated_at=now)
        if changed.get("status") == IssuerStatus.SUSPENDED:
            event = IssuerSuspended(issuer_id=old["id"], suspended_at=now)
        self._tell_issuer(tx, caller, event, "issuer.update", row, now)

    def add_key(
        self, issuer_id: UUID, *, kid: str, alg: Algorithm, caller: Caller, public_key: bytes | None = None
    ) -> Mapping[str, Any]:
        """A further key: managed, or external when its public half (raw Ed25519 or SPKI) is given.

        Raises:
            NotFound: there is no such issuer in the caller's tenant.
            ValidationFailed: the public key is not acceptable.
            Conflict: the kid is taken.
        """
        with self.storage.write() as tx:
            tx.flush()
            store.owned(tx.connection, issuer_id, tenant_id=caller.tenant_id)
            return self._add_key(tx, issuer_id, kid, alg, public_key, caller, self.clock.now())

    def keys(self, issuer_id: UUID, *, caller: Caller) -> Sequence[Mapping[str, Any]]:
        """The issuer's keys, oldest first.

        Raises:
            NotFound: there is no such issuer in the caller's tenant.
        """
        return self.get(issuer_id, caller=caller).keys

    def jwks(self, issuer_id: UUID) -> list[dict[str, str]]:
        """The issuer's public keys as JWKs, each with its status; public.

        Raises:
            NotFound: there is no such issuer.
        """
        with self.storage.read() as connection:
            if not store.exists(connection, issuer_id):
                raise NotFound("issuer", issuer_id)
            found = store.keys_of(connection, [issuer_id])[issuer_id]
        return [_jwk(row) for row in found]

    def signing_key(self, connection: Connection, *, tenant_id: UUID, issuer_id: UUID, kid: str) -> SigningKey:
        """A key with its issuer's standing; whether they may mint is `rules.require_may_mint`.

        Raises:
            NotFound: no such issuer, or no such key of it, in the tenant.
        """
        found = store.signing_key(connection, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid)
        if found is None:
            store.owned(connection, issuer_id, tenant_id=tenant_id)
            raise NotFound("signing key", kid)
        return found

    def private_key(self, key: SigningKey) -> PrivateKey:
        """The private half of a managed key, unsealed once and kept in memory."""
        return self._unsealed(key.sealed, key.tenant_id, key.issuer_id, key.kid, key.alg)

    def public_key(self, alg: Algorithm, spki: bytes) -> PublicKey:
        """The public half, ready to verify with."""
        return signing.load_public(alg, spki)

    def _unseal(self, sealed: bytes | None, tenant_id: UUID, issuer_id: UUID, kid: str, alg: Algorithm) -> PrivateKey:
        if sealed is None:
            raise Conflict(f"The key {kid} is external; only its owner can sign with it.")
        der = self.keyring.unseal(sealed, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg.value)
        return signing.load_private(alg, der)

    def _add_key(
        self,
        tx: Transaction,
        issuer_id: UUID,
        kid: str,
        alg: Algorithm,
        public_key: bytes | None,
        caller: Caller,
        now: datetime,
    ) -> dict[str, Any]:
        tenant_id, kid = caller.tenant_id, rules.kid(kid)
        tx.flush()
        if store.is_kid_taken(tx.connection, tenant_id=tenant_id, kid=kid):
            raise Conflict(f"The kid {kid} is taken in this tenant.", details={"kid": kid})
        spki, sealed = self._halves(tenant_id, issuer_id, kid, alg, public_key)
        row: dict[str, Any] = {
            "tenant_id": tenant_id,
            "kid": kid,
            "issuer_id": issuer_id,
            "alg": alg.value,
            "spki": spki,
            "sealed": sealed,
            "custody": (Custody.EXTERNAL if sealed is None else Custody.MANAGED).value,
            "status": KeyStatus.ACTIVE.value,
            "created_at": now,
            "rotated_at": None,
            "revoked_at": None,
            "compromised_at": None,
            "log_index": self._log_key(tx, issuer_id, kid, alg, spki, KeyStatus.ACTIVE, now),
            "changed_index": None,
        }
        tx.add(store.keys, row)
        event = KeyCreated(issuer_id=issuer_id, kid=kid, alg=alg.value, custody=row["custody"], created_at=now)
        self._tell(tx, caller, event, "key.create", "key", key_name(row), row_sha256(store.keys, row), now)
        return row

    def _halves(
        self, tenant_id: UUID, issuer_id: UUID, kid: str, alg: Algorithm, public_key: bytes | None
    ) -> tuple[bytes, bytes | None]:
        """The public half as SPKI, and the private half sealed where it is ours."""
        if public_key is not None:
            return signing.spki(signing.load_public(alg, public_key, field="/public_key_b64url")), None
        private = signing.generate(alg)
        sealed = self.keyring.seal(
            signing.dump_private(private), tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg.value
        )
        return signing.spki(private.public_key()), sealed

    def _log_key(
        self,
        tx: Transaction,
        issuer_id: UUID,
        kid: str,
        alg: Algorithm,
        spki: bytes,
        status: KeyStatus,
        now: datetime,
    ) -> int:
        subject = entries.key_subject(issuer_id, kid)
        entry = entries.key_status(
            self.log.status_prev(tx, subject),
            issuer_id=issuer_id,
            kid=kid,
            alg=alg.value,
            public_spki=spki,
            status=status.value,
            at=now,
        )
        return self.log.append(tx, entry, kind=EntryType.KEY_STATUS, subject=subject).index

    def _log_standing(self, tx: Transaction, row: Mapping[str, Any], now: datetime) -> int:
        subject = entries.issuer_subject(row["id"])
        entry = entries.issuer_status(
            self.log.status_prev(tx, subject),
            issuer_id=row["id"],
            status=row["status"],
            trust_tier=row["trust_tier"],
            risk_rating=row["risk_rating"],
            jurisdiction=row["jurisdiction"],
            at=now,
        )
        return self.log.append(tx, entry, kind=EntryType.ISSUER_STATUS, subject=subject).index

    def _tell_issuer(
        self, tx: Transaction, caller: Caller, event: Event, action: str, row: Mapping[str, Any], now: datetime
    ) -> None:
        self._tell(tx, caller, event, action, "issuer", str(row["id"]), row_sha256(store.issuers, row), now)

    def _tell(
        self,
        tx: Transaction,
        caller: Caller,
        event: Event,
        action: str,
        resource_type: str,
        resource_id: str,
        fingerprint: str,
        now: datetime,
    ) -> None:
        outbox.tell(tx, caller.tenant_id, event, at=now)
        entry = AuditEntry(
            tenant_id=caller.tenant_id,
            actor=caller,
            action=action,
            resource_type=resource_type,
            resource_id=resource_id,
            at=now,
            metadata={MEMBER: fingerprint},
        )
        audit.record(tx, entry)


def key_name(row: Mapping[str, Any]) -> str:
    """How the audit trail names a key: kids repeat between tenants, never within one issuer."""
    return f"{row['issuer_id']}/{row['kid']}"


def _cleaned(profile: Mapping[str, str | None]) -> dict[str, str | None]:
    """The profile in the form in which it is stored."""
    return {
        name: value if value is None or name not in _CLEANERS else _CLEANERS[name](value)
        for name, value in profile.items()
    }


def _new_issuer(profile: Mapping[str, str | None], caller: Caller, now: datetime) -> dict[str, Any]:
    return {
        "id": new_id(now),
        "tenant_id": caller.tenant_id,
        "legal_name": None,
        "display_name": None,
        "jurisdiction": None,
        "primary_color": None,
        "accent_color": None,
        "logo_url": None,
        **profile,
        "status": IssuerStatus.ACTIVE.value,
        "trust_tier": TrustTier.SELF_SIGNED.value,
        "risk_rating": RiskRating.LOW.value,
        "revoked_index": None,
        "created_at": now,
        "updated_at": now,
    }


def _new_kid(alg: Algorithm) -> str:
    return f"{alg.value.lower()}-{secrets.token_hex(KID_LENGTH)}"


def _with_keys(connection: Connection, found: Sequence[AnyRow]) -> list[IssuerWithKeys]:
    keys = store.keys_of(connection, [row.id for row in found])
    return [IssuerWithKeys(dict(row._mapping), [dict(key._mapping) for key in keys[row.id]]) for row in found]


def _jwk(row: AnyRow) -> dict[str, str]:
    alg = Algorithm(row.alg)
    return {**signing.jwk(alg, signing.load_public(alg, row.spki), row.kid), "use": "sig", "status": row.status}
