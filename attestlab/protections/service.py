"""Service of protections: protect content, show received credentials, change, revoke, list and count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.attestations.minting import MintRequest, PreparedAttestation
from attestlab.attestations.service import Attestations
from attestlab.consumer.accounts import store as account_store
from attestlab.consumer.accounts.rules import PortfolioVisibility
from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.consumer.inbox import store as inbox_store
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs.rules import Caller, validate_display_name
from attestlab.protections import rules, store
from attestlab.protections.events import ContentProtected
from attestlab.protections.platform_issuer import PlatformIssuer, build_operator_caller
from attestlab.protections.rules import ProtectionSource
from attestlab.protections.shapes import ProtectionIn, ProtectionPatch, ProtectionsQuery
from attestlab.protections.store import AttestedProtection
from attestlab.protections.tables import ProtectionDayRecord, ProtectionRecord
from attestlab.protections.verification_counts import fill_days

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)
MAX_RECENT: Final = 64  # pages of portfolios that each thread keeps until the next commit, some 10 MB at most


class PreparedProtection(NamedTuple):
    """A validated request with the signed attestation of own content; `attestation` is None for a received one."""

    request: ProtectionIn
    caller: Caller
    attestation: PreparedAttestation | None


@dataclass(frozen=True, eq=False)
class Portfolio:
    """A consumer with some of their public protections.

    Each state of them is one object, so that what is rendered of it can be found by its identity.
    """

    account: PersonalAccount
    protections: tuple[AttestedProtection, ...]

    @cached_property
    def _expiries(self) -> tuple[datetime, ...]:
        return tuple(each.expiry_at for each in self.protections if each.expiry_at is not None)

    def last_expiry(self, now: datetime) -> datetime:
        """Return when an attestation expired last; since then, time has changed no status."""
        return max((expiry for expiry in self._expiries if expiry <= now), default=_BEFORE_ALL)


class PortfolioPlace(NamedTuple):
    """The part of a portfolio that a page shows."""

    username: str
    before: UUID | None
    limit: int


class Protections:
    """Protections of all consumers. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(
        self, *, storage: Storage, clock: Clock, attestations: Attestations, platform_issuer: PlatformIssuer
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.attestations = attestations
        self.platform_issuer = platform_issuer

    def prepare(
        self, request: ProtectionIn, *, caller: Caller, client_address: str | None = None, tx: Transaction | None = None
    ) -> PreparedProtection | None:
        """Validate a request and sign the attestation of own content; None if the platform's issuer is not made yet.

        Raises:
            ValidationFailed: a field is wrong.
            PermissionDenied: the platform's issuer is not ACTIVE.
            Conflict: it has no active key.
        """
        rules.require_one_subject(request.content_hash, request.attestation_id)
        validate_display_name("title", request.title)
        if request.content_hash is None:
            return PreparedProtection(request, caller, None)
        with self.storage.read(tx) as connection:
            place = self.platform_issuer.find(connection)
            operator = build_operator_caller(connection.execute, actor=caller)
        if place is None:
            return None
        mint = MintRequest(
            issuer_id=place.issuer_id,
            kid=place.kid,
            schema=rules.SCHEMA,
            claims=rules.build_claims(request.content_hash, request.content_type),
            document_hash=request.content_hash,
            client_address=client_address,
        )
        return PreparedProtection(request, caller, self.attestations.prepare(mint, caller=operator, tx=tx))

    def create(
        self, prepared: PreparedProtection, *, tx: Transaction | None = None
    ) -> AttestedProtection | PermissionDenied:
        """Protect content, or show a received credential; the mint and the protection are one transaction.

        A denial by the operator's policies is returned, not raised, so that its record is committed.

        Raises:
            Conflict: the consumer protects this content already, or shows this credential.
            NotFound: their inbox has no such credential.
            RateLimited: the plan's daily number of attestations is reached.
        """
        request, caller = prepared.request, prepared.caller
        with self.storage.write(tx) as tx:
            at = self.clock.now()
            account = account_store.get_account_of(tx.exec, caller.tenant_id)
            if prepared.attestation is None:
                attestation_id = _find_received(tx, request, account)
            else:
                _require_new(store.find_by_hash(tx.exec, str(request.content_hash), user_id=account.id))
                _require_quota(tx, caller, account, at)
                minted = self.attestations.issue(prepared.attestation, tx=tx)
                if isinstance(minted, PermissionDenied):
                    return minted
                attestation_id = minted.id
            row = _build_row(request, account, attestation_id, at)
            audited_write.insert(tx, store.protections, row, _context(caller, "create", at))
            if prepared.attestation is not None:
                _publish(tx, row, prepared.attestation, at)
            return store.get(tx.exec, row.id, user_id=account.id)

    def get(self, protection_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> AttestedProtection:
        """Return a protection of the caller.

        Raises:
            NotFound: the caller has no such protection.
        """
        with self.storage.read(tx) as connection:
            account = account_store.get_account_of(connection.execute, caller.tenant_id)
            return store.get(connection.execute, protection_id, user_id=account.id)

    def page(
        self, query: ProtectionsQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> tuple[Sequence[AttestedProtection], int]:
        """List protections of the caller, newest first, and count all that match."""
        with self.storage.read() as connection:
            user_id = account_store.get_account_of(connection.execute, caller.tenant_id).id
            found = store.page(connection.execute, query, user_id=user_id, before=before, limit=limit)
            return found, store.count(connection.execute, query, user_id=user_id)

    def update(
        self, protection_id: UUID, patch: ProtectionPatch, *, caller: Caller, tx: Transaction | None = None
    ) -> AttestedProtection:
        """Change the given fields of a protection.

        Raises:
            NotFound: the caller has no such protection.
            ValidationFailed: the title is not one line.
        """
        changes = patch.model_dump(exclude_unset=True, mode="json")
        if "title" in changes:
            changes["title"] = validate_display_name("title", patch.title)
        with self.storage.write(tx) as tx:
            found, at = self.get(protection_id, caller=caller, tx=tx), self.clock.now()
            changed = {**changes, "updated_at": at}
            row = audited_write.change(tx, store.protections, found.row, changed, _context(caller, "update", at))
            return found._replace(row=row)

    def revoke(
        self, protection_id: UUID, *, reason: str, caller: Caller, tx: Transaction | None = None
    ) -> AttestedProtection:
        """Revoke the attestation of own content permanently; the protection stays, with its new status.

        Raises:
            NotFound: the caller has no such protection.
            Conflict: the credential was received, or is no longer VALID.
        """
        with self.storage.write(tx) as tx:
            found = self.get(protection_id, caller=caller, tx=tx)
            rules.require_own(ProtectionSource(found.row.source))
            operator = build_operator_caller(tx.exec, actor=caller)
            self.attestations.revoke(found.attestation_id, reason=reason, caller=operator, tx=tx)
            return self.get(protection_id, caller=caller, tx=tx)

    def delete(self, protection_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Delete a protection with its texts and counts; its attestation stays as it is.

        Raises:
            NotFound: the caller has no such protection.
        """
        with self.storage.write(tx) as tx:
            found = self.get(protection_id, caller=caller, tx=tx)
            delete_row(tx, found.row, _context(caller, "delete", self.clock.now()))

    def list_days(self, protection_id: UUID, *, days: int, caller: Caller) -> Sequence[ProtectionDayRecord]:
        """List the verifications of a protection on each of the last days, newest first.

        Raises:
            NotFound: the caller has no such protection.
        """
        today = self.clock.now().astimezone(UTC).date()
        with self.storage.read() as connection:
            account = account_store.get_account_of(connection.execute, caller.tenant_id)
            store.get(connection.execute, protection_id, user_id=account.id)
            found = store.list_days(connection.execute, protection_id, since=_first_day(today, days))
        return fill_days(found, protection_id, today=today, days=days)

    def get_portfolio(self, username: str, *, before: UUID | None = None, limit: int = 50) -> Portfolio:
        """Return the public portfolio of a consumer, newest protections first, as it is since the last commit.

        Raises:
            NotFound: no account has this username, or their portfolio is private.
        """
        place = PortfolioPlace(username, before, limit)
        with self.storage.read() as connection:
            recent: dict[PortfolioPlace, Portfolio] = self.storage.load_cached(connection, "portfolios", lambda _: {})
            found = recent.get(place) or _load_portfolio(connection.execute, place)
        if len(recent) < MAX_RECENT:
            recent[place] = found
        return found


def _load_portfolio(execute: Execute, place: PortfolioPlace) -> Portfolio:
    account = account_store.find_account_by_username(execute, place.username)
    if account is None or account.portfolio_visibility != PortfolioVisibility.PUBLIC:
        raise NotFound("portfolio", place.username)
    found = store.page_public(execute, account.id, before=place.before, limit=place.limit)
    return _unify(account, tuple(found))


@lru_cache(MAX_RECENT)
def _unify(account: PersonalAccount, protections: tuple[AttestedProtection, ...]) -> Portfolio:
    """Return the one object of a state of a portfolio."""
    return Portfolio(account, protections)


def _publish(tx: Transaction, row: ProtectionRecord, minted: PreparedAttestation, at: datetime) -> None:
    """Publish the event of new content to the operator's tenant; consumers have no endpoints."""
    event = ContentProtected(
        protection_id=row.id, attestation_id=minted.statement.id, visibility=row.visibility, protected_at=at
    )
    outbox.publish(tx, minted.key.tenant_id, event, at=at)


def delete_row(tx: Transaction, row: ProtectionRecord, context: AuditContext) -> None:
    """Empty the row of a protection that is deleted, with its account or alone."""
    texts = {"title": "", "description": "", "category": "", "file_name": None, "file_size": None}
    subject = {"attestation_id": None, "content_hash": None, "content_type": "", "visibility": "private"}
    changes: Mapping[str, object] = {**texts, **subject, "updated_at": context.at, "deleted_at": context.at}
    store.delete_days(tx.exec, row.id)
    audited_write.change(tx, store.protections, row, changes, context)


def _find_received(tx: Transaction, request: ProtectionIn, account: PersonalAccount) -> UUID:
    """Return the attestation to show, which must be in the consumer's inbox."""
    attestation_id = request.attestation_id
    if attestation_id is None or inbox_store.find_item(tx.exec, attestation_id, account_id=account.id) is None:
        raise NotFound("inbox item with the attestation", attestation_id)
    _require_new(store.find_by_attestation(tx.exec, attestation_id, user_id=account.id))
    return attestation_id


def _require_new(found: UUID | None) -> None:
    if found is not None:
        message = "You protect this content already. Change that protection, or delete it first."
        raise Conflict(message, details={"reason": "already_protected", "protection_id": str(found)})


def _require_quota(tx: Transaction, caller: Caller, account: PersonalAccount, at: datetime) -> None:
    """Require that the consumer's own plan allows one more attestation today; the issuer's plan is the operator's."""
    midnight = datetime.combine(at.astimezone(UTC).date(), time(), UTC)
    quotas.require_attestation(caller, lambda: store.count_minted_since(tx.exec, midnight, user_id=account.id), at=at)


def _build_row(request: ProtectionIn, account: PersonalAccount, attestation_id: UUID, at: datetime) -> ProtectionRecord:
    is_own = request.content_hash is not None
    return ProtectionRecord(
        id=new_id(at),
        user_id=account.id,
        attestation_id=attestation_id,
        content_hash=request.content_hash,
        title=validate_display_name("title", request.title),
        description=request.description,
        content_type=request.content_type,
        category=request.category,
        file_name=request.file_name,
        file_size=request.file_size,
        visibility=request.visibility.value,
        source=(ProtectionSource.OWN if is_own else ProtectionSource.RECEIVED).value,
        created_at=at,
        updated_at=at,
    )


def _context(caller: Caller, verb: str, at: datetime) -> AuditContext:
    return AuditContext(caller.tenant_id, caller, f"protection.{verb}", at)


def _first_day(today: date, days: int) -> date:
    return today - timedelta(days=days - 1)
