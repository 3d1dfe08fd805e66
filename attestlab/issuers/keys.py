"""Service for signing keys: register, rotate, revoke, report as compromised (SPEC, Signing key; CONTRACT section 4).

Every status of a key is an entry of the log, and verdicts follow the order of the log: attestations that a
key signed before its revocation stay valid, whatever times callers claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, update

from attestlab.core.clock import Clock, truncate_to_milliseconds
from attestlab.core.crypto import sealing, signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm, PrivateKey
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.events import Event
from attestlab.core.records.actors import COMMAND_LINE, Actor
from attestlab.issuers import rules, store
from attestlab.issuers.change_log import ChangeRecorder, RowChange
from attestlab.issuers.events import KeyCompromised, KeyCreated, KeyRevoked, KeyRotated
from attestlab.issuers.new_keys import NewKey, load_external_key, make_managed_key
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.tables import IssuerKeyRecord
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller

_STATUS_COLUMNS = ("status", "rotated_at", "revoked_at", "compromised_at", "changed_index")
KEYS_CHANGED = "issuers.changed"  # in a transaction's memo once it changed an issuer or a key


class SignedCounts(NamedTuple):
    """What a key has signed."""

    attestations: int
    receipts: int


# Counts what a tenant's key has signed; supplied by the installation, which knows the stores of both.
CountSigned = Callable[[Transaction, UUID, str], SignedCounts]


@dataclass(frozen=True)
class RotatedKey:
    """Both keys of a rotation."""

    old: IssuerKeyRecord = field(repr=False)
    new: IssuerKeyRecord = field(repr=False)


@dataclass(frozen=True)
class RevokedKey:
    """A key that was revoked or reported as compromised, with what it signed, the reason and the log entry."""

    key: IssuerKeyRecord = field(repr=False)
    affected: SignedCounts
    reason: str
    log_index: int


class Keys:
    """The keys of issuers. Callers that hold the writer's lock must pass a generated pair, so that no write waits.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

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
        tx: Transaction | None = None,
    ) -> IssuerKeyRecord:
        """Add a key to an issuer: managed, or external if its public key (raw Ed25519 or SPKI) is given.

        A managed key may be prepared as pending; a rotation to it activates it.

        Raises:
            NotFound: the caller's tenant has no such issuer.
            ValidationFailed: the kid, the public key or the status is invalid.
            QuotaExceeded: the issuer has reached the plan's limit of keys.
            Conflict: the kid is taken.
        """
        if public_key is not None and status is KeyStatus.PENDING:
            message = "Only a key that the service generates can be pending. Omit status or the public key."
            raise ValidationFailed.of("/status", "managed_only", message)
        key = (
            make_managed_key(kid, alg, private, status)
            if public_key is None
            else load_external_key(kid, alg, public_key)
        )
        with self.storage.write(tx) as tx:
            store.get(tx.exec, issuer_id, tenant_id=caller.tenant_id)
            return self.register(tx, issuer_id, key, caller, self.clock.now())

    def register(self, tx: Transaction, issuer_id: UUID, key: NewKey, caller: Caller, now: datetime) -> IssuerKeyRecord:
        """Add a key to an issuer; the caller of this method must have checked that the tenant owns the issuer.

        Raises:
            QuotaExceeded: the issuer has reached the plan's limit of keys.
            Conflict: the kid is taken, or the tenant already has this public key.
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
        tx: Transaction | None = None,
    ) -> RotatedKey:
        """Replace an active key with another; the attestations of the old key stay valid.

        With `public_key`, the new key is the pending key that has it, or otherwise a new external key. Without it,
        the service generates a managed key.

        Raises:
            NotFound: the caller's tenant has no such key.
            Conflict: the key is not active, or the new kid is taken.
            ValidationFailed: the algorithm differs from the old key's, or the new key is invalid.
        """
        with self.storage.write(tx) as tx:
            old = store.get_key(tx.exec, kid, tenant_id=caller.tenant_id)
            rules.require_rotatable(KeyStatus(old.status))
            if alg.value != old.alg:
                message = f"The key {kid} has the algorithm {old.alg}; the new key must have the same."
                raise ValidationFailed.of("/alg", "alg_mismatch", message)
            now = self.clock.now()
            changed = old._replace(status=KeyStatus.ROTATED.value, rotated_at=now)
            rotated, log_index = self._change_status(tx, changed, now)
            new = self._resolve_successor(tx, old, new_kid, public_key, private, caller, now)
            event = KeyRotated(old.issuer_id, kid, new.kid, log_index, now)
            self._publish_and_audit(tx, event, "key.rotate", rotated, caller, now)
        return RotatedKey(rotated, new)

    def revoke(self, kid: str, *, reason: str, caller: Caller, tx: Transaction | None = None) -> RevokedKey:
        """Revoke a key permanently; its attestations that are already in the log stay valid and are flagged.

        Raises:
            NotFound: the caller's tenant has no such key.
            Conflict: the key is already revoked or compromised.
        """
        return self._withdraw(kid, KeyStatus.REVOKED, reason, caller, None, tx)

    def compromise(
        self,
        kid: str,
        *,
        reason: str,
        caller: Caller,
        compromised_at: datetime | None = None,
        tx: Transaction | None = None,
    ) -> RevokedKey:
        """Report a key as compromised; its attestations logged since `compromised_at` are INVALID.

        If that time is not known, those logged after the report are.

        Raises:
            NotFound: the caller's tenant has no such key.
            Conflict: the key is already reported as compromised.
            ValidationFailed: the time is in the future.
        """
        rules.require_past(compromised_at, now=self.clock.now())
        since = None if compromised_at is None else truncate_to_milliseconds(compromised_at)
        return self._withdraw(kid, KeyStatus.COMPROMISED, reason, caller, since, tx)

    def rewrap(self, tx: Transaction, new: Keyring, *, on_sealed: Callable[[], None] = lambda: None) -> int:
        """Seal all private keys of managed keys under another key-encryption key, and return their number.

        `on_sealed` is called after each.
        """
        now, rows = self.clock.now(), store.list_managed_keys(tx)
        tx.cache[KEYS_CHANGED] = True
        for old in rows:
            if old.sealed is None:  # an external key, which `list_managed_keys` leaves out
                continue
            sealed = self.keyring.rewrap(
                old.sealed, new, tenant_id=old.tenant_id, issuer_id=old.issuer_id, kid=old.kid, alg=old.alg
            )
            tx.exec(update(store.keys).where(*_is_key(old)).values(sealed=sealed))
            self._audit(tx, "key.rewrap", old._replace(sealed=sealed), COMMAND_LINE, now)
            on_sealed()
        return len(rows)

    def _withdraw(
        self,
        kid: str,
        status: KeyStatus,
        reason: str,
        caller: Caller,
        compromised_at: datetime | None,
        tx: Transaction | None,
    ) -> RevokedKey:
        with self.storage.write(tx) as tx:
            old = store.get_key(tx.exec, kid, tenant_id=caller.tenant_id)
            rules.require_withdrawable(KeyStatus(old.status), status)
            now = self.clock.now()
            changed = old._replace(status=status.value)
            if status is KeyStatus.REVOKED:
                changed = changed._replace(revoked_at=now)
            else:
                changed = changed._replace(compromised_at=compromised_at)
            row, log_index = self._change_status(tx, changed, now, reason=reason)
            affected = self.count_signed(tx, caller.tenant_id, kid)
            event = _build_withdrawal_event(row, log_index, affected, now)
            self._publish_and_audit(tx, event, _ACTIONS[status], row, caller, now)
        return RevokedKey(row, affected, reason, log_index)

    def _resolve_successor(
        self,
        tx: Transaction,
        old: IssuerKeyRecord,
        kid: str,
        public_key: bytes | None,
        private: PrivateKey | None,
        caller: Caller,
        now: datetime,
    ) -> IssuerKeyRecord:
        alg = Algorithm(old.alg)
        key = (
            make_managed_key(kid, alg, private)
            if public_key is None
            else load_external_key(kid, alg, public_key, "new_")
        )
        spki = signing.spki(key.public)
        if spki == old.spki:
            message = "The new public key is that of the key to rotate. Send another one."
            raise ValidationFailed.of("/new_public_key_b64url", "same_key", message)
        prepared = store.find_prepared_key(tx.exec, old.issuer_id, spki)
        if prepared is None:
            self._require_new(tx, key, caller)
            return self._insert(tx, old.issuer_id, key, caller, now)
        if prepared.kid != kid:
            message = f"The pending key with this public key is named {prepared.kid}. Send that as new_kid."
            raise ValidationFailed.of("/new_kid", "prepared", message)
        row, _ = self._change_status(tx, prepared._replace(status=KeyStatus.ACTIVE.value), now)
        self._audit(tx, "key.activate", row, caller, now)
        return row

    def _require_new(self, tx: Transaction, key: NewKey, caller: Caller) -> None:
        """Reject a known kid, and a known public key: otherwise a stolen key could return under another kid."""
        kid = key.kid
        if store.is_kid_taken(tx, tenant_id=caller.tenant_id, kid=kid):
            raise Conflict(f"The kid {kid} is taken in this tenant. Choose another.", details={"kid": kid})
        known = store.find_kid(tx, tenant_id=caller.tenant_id, spki=signing.spki(key.public))
        if known is not None:
            raise Conflict(f"This public key is registered as {known}. Generate a new pair.", details={"kid": known})

    def _insert(self, tx: Transaction, issuer_id: UUID, key: NewKey, caller: Caller, now: datetime) -> IssuerKeyRecord:
        tx.cache[KEYS_CHANGED] = True
        tenant_id = caller.tenant_id
        columns = key.build_columns(self._seal_private(tx, key, tenant_id, issuer_id), tenant_id, now)
        unlogged = IssuerKeyRecord(issuer_id=issuer_id, revoked_at=None, **columns)
        row = unlogged._replace(log_index=self.recorder.log_key_status(tx, unlogged, now))
        tx.add(store.keys, row)
        event = KeyCreated(issuer_id=issuer_id, kid=key.kid, alg=key.alg.value, custody=row.custody, created_at=now)
        self._publish_and_audit(tx, event, "key.create", row, caller, now)
        return row

    def _change_status(
        self, tx: Transaction, changed: IssuerKeyRecord, now: datetime, *, reason: str | None = None
    ) -> tuple[IssuerKeyRecord, int]:
        """Log a key's new status and update its row; the caller must write the audit line.

        Returns the row and the index of the log entry.
        """
        tx.cache[KEYS_CHANGED] = True
        log_index = self.recorder.log_key_status(tx, changed, now, reason=reason)
        row = changed._replace(changed_index=log_index)
        columns = {name: getattr(row, name) for name in _STATUS_COLUMNS}
        tx.exec(update(store.keys).where(*_is_key(row)).values(columns))
        return row, log_index

    def _publish_and_audit(
        self, tx: Transaction, event: Event, action: str, row: IssuerKeyRecord, caller: Caller, now: datetime
    ) -> None:
        self.recorder.publish_and_audit(tx, event, _build_key_change(action, row, caller, now))

    def _audit(self, tx: Transaction, action: str, row: IssuerKeyRecord, actor: Actor, now: datetime) -> None:
        self.recorder.audit(tx, _build_key_change(action, row, actor, now))

    def _seal_private(self, tx: Transaction, key: NewKey, tenant_id: UUID, issuer_id: UUID) -> bytes | None:
        """Return the sealed private key of a managed key; None for an external key."""
        if key.private is None:
            return None
        der = signing.dump_private(key.private)
        return sealing.seal(
            tx, self.keyring, der, tenant_id=tenant_id, issuer_id=issuer_id, kid=key.kid, alg=key.alg.value
        )


_ACTIONS = {KeyStatus.REVOKED: "key.revoke", KeyStatus.COMPROMISED: "key.compromise"}


def _build_withdrawal_event(row: IssuerKeyRecord, log_index: int, affected: SignedCounts, now: datetime) -> Event:
    facts = (row.issuer_id, row.kid, log_index, affected.attestations, affected.receipts, now)
    if row.status == KeyStatus.REVOKED:
        return KeyRevoked(*facts)
    return KeyCompromised(*facts, row.compromised_at)


def _build_key_change(action: str, row: IssuerKeyRecord, actor: Actor, now: datetime) -> RowChange:
    name = format_key_name(row.issuer_id, row.kid)
    return RowChange(row.tenant_id, actor, action, "key", name, store.keys, row, now)


def _is_key(row: IssuerKeyRecord) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return store.keys.c.tenant_id == row.tenant_id, store.keys.c.kid == row.kid


def format_key_name(issuer_id: object, kid: object) -> str:
    """Return a key's resource id in the audit trail; kids repeat between tenants, but not within an issuer."""
    return f"{issuer_id}/{kid}"
