"""The verbs of signing keys: register, rotate, revoke, report as compromised (SPEC, Signing key; CONTRACT section 4).

A key's every status is an entry of the log, and verdicts go by the order of the log: what
a key signed before it was withdrawn stays valid, whatever time anybody claims.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import update

from attestlab.core.clock import Clock, truncate_to_milliseconds
from attestlab.core.crypto import sealing, signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.rsa_moduli import require_unfactorable
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.events import Event
from attestlab.issuers import rules, store
from attestlab.issuers.change_log import ChangeRecorder, RowChange
from attestlab.issuers.events import KeyCompromised, KeyCreated, KeyRevoked, KeyRotated
from attestlab.issuers.rules import Custody, KeyStatus
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller

KID_BYTES = 6
KEYS_CHANGED = "issuers.changed"  # in a transaction's memo once it changed an issuer or a key

# How many attestations a tenant's key has signed, in a transaction; who keeps attestations knows.
CountSigned = Callable[[Transaction, UUID, str], int]


@dataclass(frozen=True)
class NewKey:
    """A key about to be registered; `private` is None where its owner alone holds it."""

    kid: str
    alg: Algorithm
    public: PublicKey
    private: PrivateKey | None = field(repr=False)
    status: KeyStatus = KeyStatus.ACTIVE


@dataclass(frozen=True)
class RotatedKey:
    """Both keys of a rotation, as rows by column."""

    old: Mapping[str, Any] = field(repr=False)
    new: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class RevokedKey:
    """A key that is revoked or compromised now, how many attestations it has signed, and why it was withdrawn."""

    key: Mapping[str, Any] = field(repr=False)
    affected: int
    reason: str


class Keys:
    """The keys of issuers. Who makes a pair while holding the writer's lock makes everybody wait: hand one in."""

    def __init__(
        self, *, storage: Storage, keyring: Keyring, clock: Clock, recorder: ChangeRecorder, count_signed: CountSigned
    ) -> None:
        self.storage = storage
        self.keyring = keyring
        self.clock = clock
        self.recorder = recorder
        self.count_signed = count_signed

    def add(
        self,
        issuer_id: UUID,
        *,
        kid: str,
        alg: Algorithm,
        caller: Caller,
        public_key: bytes | None = None,
        private: PrivateKey | None = None,
        status: KeyStatus = KeyStatus.ACTIVE,
    ) -> Mapping[str, Any]:
        """A further key: managed, or external when its public half (raw Ed25519 or SPKI) is given.

        A managed one may be prepared as pending; it signs once the active key is rotated to it.

        Raises:
            NotFound: there is no such issuer in the caller's tenant.
            ValidationFailed: the kid, the public key or the status is not acceptable.
            QuotaExceeded: the plan allows the issuer no more keys.
            Conflict: the kid is taken.
        """
        if public_key is not None and status is KeyStatus.PENDING:
            raise ValidationFailed.of("/status", "managed_only", "Only a key that the service makes can be prepared.")
        key = (
            make_managed_key(kid, alg, private, status)
            if public_key is None
            else load_external_key(kid, alg, public_key)
        )
        with self.storage.write() as tx:
            store.get(tx.exec, issuer_id, tenant_id=caller.tenant_id)
            return self.register(tx, issuer_id, key, caller, self.clock.now())

    def register(self, tx: Transaction, issuer_id: UUID, key: NewKey, caller: Caller, now: datetime) -> dict[str, Any]:
        """Add a key to an issuer that is known to be the caller's, where the plan has room for it.

        Raises:
            QuotaExceeded: it has none.
            Conflict: the kid is taken, or the tenant has this public key already.
        """
        self._require_new(tx, key, caller)
        limit = quotas.allowance_of(caller).keys_per_issuer
        quotas.require_capacity("keys_per_issuer", limit, lambda: store.count_usable_keys(tx.exec, issuer_id))
        return self._insert(tx, issuer_id, key, caller, now)

    def rotate(
        self,
        kid: str,
        *,
        new_kid: str,
        alg: Algorithm,
        caller: Caller,
        public_key: bytes | None = None,
        private: PrivateKey | None = None,
    ) -> RotatedKey:
        """Let another key take the place of an active one, whose attestations stay valid.

        The other is the prepared key that has this public half, else an external key with it; where no public
        half is given it is a fresh managed one.

        Raises:
            NotFound: there is no such key in the caller's tenant.
            Conflict: it is not active, or the new kid is taken.
            ValidationFailed: the algorithm is another, or the new key is not acceptable.
        """
        with self.storage.write() as tx:
            old = store.get_key(tx.exec, kid, tenant_id=caller.tenant_id)
            rules.require_rotatable(KeyStatus(old["status"]))
            if alg.value != old["alg"]:
                raise ValidationFailed.of("/alg", "alg_mismatch", f"The key {kid} is of {old['alg']}; so must the new.")
            now = self.clock.now()
            gone = self._change_status(tx, old, now, status=KeyStatus.ROTATED, rotated_at=now)
            new = self._resolve_successor(tx, old, new_kid, public_key, private, caller, now)
            told = KeyRotated(old["issuer_id"], kid, new["kid"], gone["changed_index"], now)
            self._publish_and_audit(tx, told, "key.rotate", gone, caller, now)
        return RotatedKey(gone, new)

    def revoke(self, kid: str, *, reason: str, caller: Caller) -> RevokedKey:
        """Withdraw a key for good; what stood in the log before stays valid, flagged.

        Raises:
            NotFound: there is no such key in the caller's tenant.
            Conflict: it is revoked or compromised already.
        """
        return self._withdraw(kid, KeyStatus.REVOKED, reason, caller, None)

    def compromise(
        self, kid: str, *, reason: str, caller: Caller, compromised_at: datetime | None = None
    ) -> RevokedKey:
        """Report that others may sign with a key; what was logged since `compromised_at` is INVALID.

        Where that time is not known it is the report itself, by its place in the log.

        Raises:
            NotFound: there is no such key in the caller's tenant.
            Conflict: it was reported already.
            ValidationFailed: the time lies in the future.
        """
        rules.require_past(compromised_at, now=self.clock.now())
        since = None if compromised_at is None else truncate_to_milliseconds(compromised_at)
        return self._withdraw(kid, KeyStatus.COMPROMISED, reason, caller, since)

    def rewrap(self, tx: Transaction, new: Keyring) -> int:
        """Seal every private half that we hold under another key-encryption key; returns how many those were."""
        now, rows = self.clock.now(), store.list_managed_keys(tx)
        tx.cache[KEYS_CHANGED] = True
        for old in rows:
            owner = {name: old[name] for name in ("tenant_id", "issuer_id", "kid", "alg")}
            row = {**old, "sealed": self.keyring.rewrap(old["sealed"], new, **owner)}
            mine = (store.keys.c.tenant_id == row["tenant_id"], store.keys.c.kid == row["kid"])
            tx.exec(update(store.keys).where(*mine).values(sealed=row["sealed"]))
            operator = Caller(row["tenant_id"], "SERVICE", "attestlab-cli", frozenset(), "")
            self._audit(tx, "key.rewrap", row, operator, now)
        return len(rows)

    def _withdraw(
        self, kid: str, status: KeyStatus, reason: str, caller: Caller, compromised_at: datetime | None
    ) -> RevokedKey:
        with self.storage.write() as tx:
            old = store.get_key(tx.exec, kid, tenant_id=caller.tenant_id)
            rules.require_withdrawable(KeyStatus(old["status"]), status)
            now = self.clock.now()
            times = {"revoked_at": now} if status is KeyStatus.REVOKED else {"compromised_at": compromised_at}
            row = self._change_status(tx, old, now, reason=reason, status=status, **times)
            affected = self.count_signed(tx, caller.tenant_id, kid)
            self._publish_and_audit(tx, _build_withdrawal_event(row, affected, now), _ACTIONS[status], row, caller, now)
        return RevokedKey(row, affected, reason)

    def _resolve_successor(
        self,
        tx: Transaction,
        old: Mapping[str, Any],
        kid: str,
        public_key: bytes | None,
        private: PrivateKey | None,
        caller: Caller,
        now: datetime,
    ) -> dict[str, Any]:
        alg = Algorithm(old["alg"])
        key = (
            make_managed_key(kid, alg, private)
            if public_key is None
            else load_external_key(kid, alg, public_key, "new_")
        )
        spki = signing.spki(key.public)
        if spki == old["spki"]:
            raise ValidationFailed.of("/new_public_key_b64url", "same_key", "This is the key that is to be rotated.")
        prepared = store.find_prepared_key(tx.exec, old["issuer_id"], spki)
        if prepared is None:
            self._require_new(tx, key, caller)
            return self._insert(tx, old["issuer_id"], key, caller, now)
        if prepared["kid"] != kid:
            raise ValidationFailed.of("/new_kid", "prepared", f"This key was prepared as {prepared['kid']}.")
        row = self._change_status(tx, prepared, now, status=KeyStatus.ACTIVE)
        self._audit(tx, "key.activate", row, caller, now)
        return row

    def _require_new(self, tx: Transaction, key: NewKey, caller: Caller) -> None:
        """Neither its name nor the key itself is known: a key that was stolen would come back under another name."""
        kid = key.kid
        if store.is_kid_taken(tx, tenant_id=caller.tenant_id, kid=kid):
            raise Conflict(f"The kid {kid} is taken in this tenant.", details={"kid": kid})
        known = store.find_kid(tx, tenant_id=caller.tenant_id, spki=signing.spki(key.public))
        if known is not None:
            raise Conflict(f"This public key is registered as {known}; make a fresh pair.", details={"kid": known})

    def _insert(self, tx: Transaction, issuer_id: UUID, key: NewKey, caller: Caller, now: datetime) -> dict[str, Any]:
        tx.cache[KEYS_CHANGED] = True
        tenant_id = caller.tenant_id
        row = _build_row(key, self._seal_private(tx, key, tenant_id, issuer_id), tenant_id, issuer_id, now)
        row["log_index"] = self.recorder.log_key_status(tx, row, now)
        tx.add(store.keys, row)
        event = KeyCreated(issuer_id=issuer_id, kid=key.kid, alg=key.alg.value, custody=row["custody"], created_at=now)
        self._publish_and_audit(tx, event, "key.create", row, caller, now)
        return row

    def _change_status(
        self, tx: Transaction, old: Mapping[str, Any], now: datetime, *, reason: str | None = None, **changes: Any
    ) -> dict[str, Any]:
        """Change a key's row, and log its new status; the audit line is the caller's to write."""
        tx.cache[KEYS_CHANGED] = True
        row = {**old, **changes}
        row["changed_index"] = self.recorder.log_key_status(tx, row, now, reason=reason)
        mine = (store.keys.c.tenant_id == row["tenant_id"], store.keys.c.kid == row["kid"])
        tx.exec(update(store.keys).where(*mine).values({**changes, "changed_index": row["changed_index"]}))
        return row

    def _publish_and_audit(
        self, tx: Transaction, event: Event, action: str, row: Mapping[str, Any], caller: Caller, now: datetime
    ) -> None:
        self.recorder.publish_and_audit(
            tx, event, RowChange(caller, action, "key", format_key_name(row), store.keys, row, now)
        )

    def _audit(self, tx: Transaction, action: str, row: Mapping[str, Any], caller: Caller, now: datetime) -> None:
        self.recorder.audit(tx, RowChange(caller, action, "key", format_key_name(row), store.keys, row, now))

    def _seal_private(self, tx: Transaction, key: NewKey, tenant_id: UUID, issuer_id: UUID) -> bytes | None:
        """The private half as it is stored, where it is ours."""
        if key.private is None:
            return None
        der = signing.dump_private(key.private)
        return sealing.seal(
            tx, self.keyring, der, tenant_id=tenant_id, issuer_id=issuer_id, kid=key.kid, alg=key.alg.value
        )


_ACTIONS = {KeyStatus.REVOKED: "key.revoke", KeyStatus.COMPROMISED: "key.compromise"}


def _build_withdrawal_event(row: Mapping[str, Any], affected: int, now: datetime) -> Event:
    facts = (row["issuer_id"], row["kid"], row["changed_index"], affected, now)
    if row["status"] == KeyStatus.REVOKED:
        return KeyRevoked(*facts)
    return KeyCompromised(*facts, row["compromised_at"])


def format_key_name(row: Mapping[str, Any]) -> str:
    """How the audit trail names a key: kids repeat between tenants, never within one issuer."""
    return f"{row['issuer_id']}/{row['kid']}"


def make_managed_key(
    kid: str, alg: Algorithm, private: PrivateKey | None, status: KeyStatus = KeyStatus.ACTIVE
) -> NewKey:
    """A key that the service holds, of a fresh pair where none is handed in."""
    kid, pair = rules.validate_kid(kid), private or signing.generate(alg)
    return NewKey(kid, alg, pair.public_key(), pair, status)


def load_external_key(kid: str, alg: Algorithm, public_key: bytes, prefix: str = "") -> NewKey:
    """A key that its owner alone holds; faults name the field, whose name may have a prefix.

    Testing an RSA modulus takes up to 0.3 s (8192 bits); the result is remembered.
    """
    field = f"/{prefix}public_key_b64url"
    public = signing.load_public(alg, public_key, field=field)
    require_unfactorable(public, field=field)
    return NewKey(rules.validate_kid(kid), alg, public, None)


def generate_kid(alg: Algorithm) -> str:
    """A name for a key that was given none."""
    return f"{alg.value.lower()}-{secrets.token_hex(KID_BYTES)}"


def _build_row(key: NewKey, sealed: bytes | None, tenant_id: UUID, issuer_id: UUID, now: datetime) -> dict[str, Any]:
    """The row, but for its place in the log."""
    return {
        "tenant_id": tenant_id,
        "kid": key.kid,
        "issuer_id": issuer_id,
        "alg": key.alg.value,
        "spki": signing.spki(key.public),
        "sealed": sealed,
        "custody": (Custody.EXTERNAL if sealed is None else Custody.MANAGED).value,
        "status": key.status.value,
        "created_at": now,
        "rotated_at": None,
        "revoked_at": None,
        "compromised_at": None,
        "changed_index": None,
    }
