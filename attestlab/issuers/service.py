"""Service for issuers: register, get, list, change the profile and ratings, and use their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from sqlalchemy import Connection, update

from attestlab.core.clock import Clock
from attestlab.core.counting import plural
from attestlab.core.crypto import signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute, replace_columns
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.events import Event
from attestlab.core.ids import new_id
from attestlab.issuers import rules, store
from attestlab.issuers.change_log import ChangeRecorder, RowChange
from attestlab.issuers.events import IssuerCreated, IssuerSuspended, IssuerUpdated
from attestlab.issuers.keys import KEYS_CHANGED, CountSigned, Keys
from attestlab.issuers.new_keys import generate_kid, make_managed_key
from attestlab.issuers.rules import IssuerStatus, RiskRating, TrustTier
from attestlab.issuers.store import KeyPlace, SigningKey
from attestlab.issuers.tables import IssuerKeyRecord, IssuerRecord
from attestlab.log import entries
from attestlab.log import store as log_store
from attestlab.log.service import Log
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller

MAX_UNSEALED_KEYS = 1024
PROFILES_PER_WRITE = 50  # issuers whose profile one write logs; other writes wait for it some milliseconds
SIGNING_KEYS = ForeseenRead("signing keys", find=store.find_signing_key, find_all=store.find_signing_keys)
_LOGGED_COLUMNS = frozenset({"status", "trust_tier", "risk_rating", "jurisdiction", "name", "domain"})


@dataclass(frozen=True)
class IssuerWithKeys:
    """An issuer and its keys, oldest first; `log_index` is the entry of a logged change."""

    issuer: IssuerRecord
    keys: Sequence[IssuerKeyRecord]
    log_index: int | None = None

    def __repr__(self) -> str:
        return f"IssuerWithKeys({self.issuer.id}, {self.issuer.name!r}, {plural(len(self.keys), 'key')})"


class Issuers:
    """Issuers of all tenants, and their keys; every change of status, ratings and keys is logged.

    Key pairs are generated before the writer's lock is taken, because generating RSA keys would
    delay all mints. A caller that already holds the lock passes one as `private`.
    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self, *, storage: Storage, keyring: Keyring, clock: Clock, log: Log, count_signed: CountSigned
    ) -> None:
        self.storage = storage
        self.keyring = keyring
        self.clock = clock
        self.recorder = ChangeRecorder(log)
        self.signing_keys = Keys(
            storage=storage, keyring=keyring, clock=clock, recorder=self.recorder, count_signed=count_signed
        )
        self._unsealed = lru_cache(maxsize=MAX_UNSEALED_KEYS)(self._unseal)

    def create(
        self,
        profile: Mapping[str, str | None],
        *,
        caller: Caller,
        alg: Algorithm | None = None,
        kid: str | None = None,
        private: PrivateKey | None = None,
        tx: Transaction | None = None,
    ) -> IssuerWithKeys:
        """Register an issuer; with `alg`, create its first managed key, with a generated `kid` if none is given.

        Raises:
            ValidationFailed: a field of the profile is invalid, or `kid` is given without `alg`.
            QuotaExceeded: the tenant has reached its plan's limit of issuers.
            Conflict: the kid is taken.
        """
        if kid is not None and alg is None:
            raise ValidationFailed.of("/kid", "needs_alg", "kid requires alg. Send alg as well, or omit kid.")
        cleaned = rules.normalize_profile(profile)
        key = None if alg is None else make_managed_key(kid or generate_kid(alg), alg, private)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            quotas.require_capacity(
                "issuers", quotas.allowance_of(caller).issuers, lambda: store.count(tx.exec, caller.tenant_id)
            )
            row = _build_row(cleaned, caller, now)
            tx.add(store.issuers, row)
            self.recorder.log_issuer_status(tx, row, now)
            event = IssuerCreated(issuer_id=row.id, name=row.name, domain=row.domain, created_at=now)
            self._record_change(tx, event, "issuer.create", row, caller, now)
            keys = [] if key is None else [self.signing_keys.register(tx, row.id, key, caller, now)]
        return IssuerWithKeys(row, keys)

    def get(self, issuer_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> IssuerWithKeys:
        """Get an issuer of the caller's tenant with its keys.

        Raises:
            NotFound: the caller's tenant has no issuer with this id.
        """
        with self.storage.read(tx) as connection:
            row = store.get(connection.execute, issuer_id, tenant_id=caller.tenant_id)
            return _attach_keys(connection.execute, [row])[0]

    def page(
        self, *, caller: Caller, before: UUID | None = None, offset: int = 0, limit: int = 50
    ) -> list[IssuerWithKeys]:
        """List the issuers of the caller's tenant, newest first."""
        with self.storage.read() as connection:
            found = store.page(connection, tenant_id=caller.tenant_id, before=before, offset=offset, limit=limit)
            return _attach_keys(connection.execute, found)

    def update(
        self, issuer_id: UUID, changes: Mapping[str, str | None], *, caller: Caller, tx: Transaction | None = None
    ) -> IssuerWithKeys:
        """Change the profile; a new name, domain or jurisdiction is also logged.

        Raises:
            NotFound: the caller's tenant has no issuer with this id.
            ValidationFailed: a field is invalid.
            Conflict: the domain was verified and cannot change.
        """
        return self._apply_changes(issuer_id, rules.normalize_profile(changes), caller, tx)

    def log_missing_profiles(self, tx: Transaction, *, after: UUID | None) -> UUID | None:
        """Log the profiles of the next issuers of all tenants whose newest entry, of an earlier version, has none.

        Returns the last issuer that it looked at, to continue after, and None at the end. What is done needs no
        record: the entry itself has the profile.
        """
        rows = store.page_of_all(tx, after=after, limit=PROFILES_PER_WRITE)
        for row in rows:
            newest = log_store.newest_of_subject(tx.connection, entries.issuer_subject(row.id))
            if newest is not None and "profile" not in entries.parse_entry(newest.entry).members:
                self.recorder.log_issuer_status(tx, row, self.clock.now())
        return rows[-1].id if len(rows) == PROFILES_PER_WRITE else None

    def set_logo(
        self, issuer_id: UUID, url: str | None, *, caller: Caller, tx: Transaction | None = None
    ) -> IssuerWithKeys:
        """Set the profile's logo URL; the caller must have validated the logo.

        Raises:
            NotFound: the caller's tenant has no issuer with this id.
        """
        return self._apply_changes(issuer_id, {"logo_url": url}, caller, tx)

    def set_governance(
        self,
        issuer_id: UUID,
        *,
        caller: Caller,
        status: IssuerStatus | None = None,
        trust_tier: TrustTier | None = None,
        risk_rating: RiskRating | None = None,
        tx: Transaction | None = None,
    ) -> IssuerWithKeys:
        """Change an issuer's status, trust tier or risk rating; the caller must have checked that this is permitted.

        Raises:
            NotFound: the caller's tenant has no issuer with this id.
        """
        changes = {"status": status, "trust_tier": trust_tier, "risk_rating": risk_rating}
        return self._apply_changes(
            issuer_id, {name: word.value for name, word in changes.items() if word is not None}, caller, tx
        )

    def set_domain_proven(
        self, issuer_id: UUID, *, lift: bool, caller: Caller, tx: Transaction | None = None
    ) -> IssuerWithKeys:
        """Record that the issuer's domain is proven, and with `lift` raise it to BASIC; the caller must have checked.

        Raises:
            NotFound: the caller's tenant has no issuer with this id.
        """
        lifted = {"trust_tier": TrustTier.BASIC.value} if lift else {}
        return self._apply_changes(issuer_id, {"domain_proven_at": self.clock.now(), **lifted}, caller, tx)

    def list_keys(self, issuer_id: UUID, *, caller: Caller, after: str | None = None) -> Sequence[IssuerKeyRecord]:
        """List the issuer's keys, newest first, starting after the key with the kid `after`.

        Raises:
            NotFound: the caller's tenant has no such issuer, or the issuer no such key.
        """
        newest_first = self.get(issuer_id, caller=caller).keys[::-1]
        if after is None:
            return newest_first
        kids = [row.kid for row in newest_first]
        if after not in kids:
            raise NotFound("key", after)
        return newest_first[kids.index(after) + 1 :]

    def jwks(self, issuer_id: UUID) -> list[dict[str, str]]:
        """Return the issuer's public keys as JWKs (RFC 7517), each with its status, for any caller.

        Raises:
            NotFound: there is no such issuer.
        """
        with self.storage.read() as connection:
            if not store.exists(connection, issuer_id):
                raise NotFound("issuer", issuer_id)
            found = store.list_keys(connection.execute, [issuer_id])[issuer_id]
        return [_render_jwk(row) for row in found]

    def get_signing_key(self, connection: Connection, *, tenant_id: UUID, issuer_id: UUID, kid: str) -> SigningKey:
        """Get a key with its issuer's status and ratings; `rules.require_may_mint` checks whether they may mint.

        Raises:
            NotFound: the tenant has no such issuer, or the issuer no such key.
        """
        return _get_signing_key(connection.execute, KeyPlace(tenant_id, issuer_id, kid))

    def get_signing_key_for_update(self, tx: Transaction, *, tenant_id: UUID, issuer_id: UUID, kid: str) -> SigningKey:
        """Get a key with its issuer's status and ratings under the writer's lock.

        Read once for the jobs of the transaction, until one of them changes an issuer or a key; then every call reads
        again.

        Raises:
            NotFound: the tenant has no such issuer, or the issuer no such key.
        """
        place = KeyPlace(tenant_id, issuer_id, kid)
        if KEYS_CHANGED in tx.cache:
            return _get_signing_key(tx.exec, place)
        return SIGNING_KEYS.get(tx, place) or _get_signing_key(tx.read_unflushed, place)

    def unseal_private_key(self, key: SigningKey) -> PrivateKey:
        """Unseal the private key of a managed key; cached in memory after the first call.

        Raises:
            Conflict: the key is external.
            IntegrityFailed: the sealed key does not open, or belongs to another key.
        """
        return self._unsealed(key.sealed, key.tenant_id, key.issuer_id, key.kid, key.alg)

    def load_public_key(self, alg: Algorithm, spki: bytes) -> PublicKey:
        """Load a public key for verification."""
        return signing.load_public(alg, spki)

    def _unseal(self, sealed: bytes | None, tenant_id: UUID, issuer_id: UUID, kid: str, alg: Algorithm) -> PrivateKey:
        if sealed is None:
            raise Conflict(f"The key {kid} is external; only its owner can sign with it. Send the signature.")
        der = self.keyring.unseal(sealed, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg.value)
        return signing.load_private(alg, der)

    def _apply_changes(
        self, issuer_id: UUID, changes: Mapping[str, object], caller: Caller, tx: Transaction | None
    ) -> IssuerWithKeys:
        index = None
        with self.storage.write(tx) as tx:
            row = store.get(tx.exec, issuer_id, tenant_id=caller.tenant_id)
            changed = {name: value for name, value in changes.items() if getattr(row, name) != value}
            if "domain" in changed:
                rules.require_domain_may_change(TrustTier(row.trust_tier))
                if row.domain_proven_at is not None:
                    changed["domain_proven_at"] = None
            if changed:
                row, index = self._write_change(tx, row, changed, caller)
            keys = store.list_keys(tx.exec, [issuer_id])[issuer_id]
        return IssuerWithKeys(row, keys, index)

    def _write_change(
        self, tx: Transaction, old: IssuerRecord, changed: Mapping[str, object], caller: Caller
    ) -> tuple[IssuerRecord, int | None]:
        tx.cache[KEYS_CHANGED] = True
        now, index = self.clock.now(), None
        row = replace_columns(old, {**changed, "updated_at": now})
        if not _LOGGED_COLUMNS.isdisjoint(changed):
            index = self.recorder.log_issuer_status(tx, row, now)
            if changed.get("status") == IssuerStatus.REVOKED:
                row = row._replace(revoked_index=index)
        tx.exec(update(store.issuers).where(store.issuers.c.id == old.id).values(row._asdict()))
        event: Event = IssuerUpdated(issuer_id=old.id, changed=",".join(sorted(changed)), updated_at=now)
        if changed.get("status") == IssuerStatus.SUSPENDED:
            event = IssuerSuspended(issuer_id=old.id, suspended_at=now)
        self._record_change(tx, event, "issuer.update", row, caller, now)
        return row, index

    def _record_change(
        self, tx: Transaction, event: Event, action: str, row: IssuerRecord, caller: Caller, now: datetime
    ) -> None:
        self.recorder.publish_and_audit(
            tx, event, RowChange(row.tenant_id, caller, action, "issuer", str(row.id), store.issuers, row, now)
        )


def _build_row(profile: Mapping[str, str | None], caller: Caller, now: datetime) -> IssuerRecord:
    return IssuerRecord(
        id=new_id(now),
        tenant_id=caller.tenant_id,
        name=_require_field(profile, "name"),
        domain=_require_field(profile, "domain"),
        legal_name=profile.get("legal_name"),
        display_name=profile.get("display_name"),
        status=IssuerStatus.ACTIVE.value,
        trust_tier=TrustTier.SELF_SIGNED.value,
        risk_rating=RiskRating.LOW.value,
        jurisdiction=profile.get("jurisdiction"),
        primary_color=profile.get("primary_color"),
        accent_color=profile.get("accent_color"),
        logo_url=profile.get("logo_url"),
        revoked_index=None,
        created_at=now,
        updated_at=now,
        domain_proven_at=None,
    )


def _require_field(profile: Mapping[str, str | None], name: str) -> str:
    text = profile.get(name)
    if text is None:
        raise ValidationFailed.of(f"/{name}", "missing", f"An issuer needs a {name}.")
    return text


def _get_signing_key(execute: Execute, place: KeyPlace) -> SigningKey:
    found = store.find_signing_key(execute, place)
    if found is None:
        store.get(execute, place.issuer_id, tenant_id=place.tenant_id)
        raise NotFound("signing key", place.kid)
    return found


def _attach_keys(execute: Execute, found: Sequence[IssuerRecord]) -> list[IssuerWithKeys]:
    keys = store.list_keys(execute, [row.id for row in found])
    return [IssuerWithKeys(row, keys[row.id]) for row in found]


def _render_jwk(row: IssuerKeyRecord) -> dict[str, str]:
    alg = Algorithm(row.alg)
    return {**signing.jwk(alg, signing.load_public(alg, row.spki), row.kid), "status": row.status}
