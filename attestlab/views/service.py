"""Service for saved views: save, list, change and delete the filters of a page by a name."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import quote
from attestlab.core.errors import Conflict
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.mail.service import Mails
from attestlab.orgs import store as org_store
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Caller, validate_display_name
from attestlab.orgs.tables import UserRecord
from attestlab.views import rules, store
from attestlab.views.schedules.service import ViewSchedules
from attestlab.views.shapes import ViewIn, ViewPatchIn, ViewsQuery
from attestlab.views.tables import SavedViewRecord


class Views:
    """The saved views of people. A person sees those they saved, and those that others share in the tenant.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, mails: Mails) -> None:
        self.storage = storage
        self.clock = clock
        self.schedules = ViewSchedules(storage=storage, clock=clock, mails=mails)

    def save(self, body: ViewIn, *, caller: Caller, tx: Transaction | None = None) -> SavedViewRecord:
        """Save the filters of a page under a name that the person has not used for this page.

        Raises:
            ValidationFailed: the name is not one line of text, or the query cannot stand in an address.
            Conflict: the person has a view of this page with the name, or as many views as a person may have.
        """
        name, query = _validate_name(body.name), rules.require_query(body.query)
        user_id = UUID(caller.actor_id)
        with self.storage.write(tx) as tx:
            rules.require_room(store.count(tx.exec, user_id))
            _require_free_name(tx, user_id, body.page, name)
            now = self.clock.now()
            row = SavedViewRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                user_id=user_id,
                name=name,
                page=body.page,
                query=query,
                is_shared=body.shared,
                created_at=now,
                updated_at=now,
            )
            return audited_write.insert(tx, store.views, row, _context(caller, "save", now))

    def page(
        self, filters: ViewsQuery, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[SavedViewRecord]:
        """Return a page of the views that the person sees, newest first."""
        with self.storage.read() as connection:
            return store.list_page(
                connection.execute,
                filters,
                tenant_id=caller.tenant_id,
                user_id=UUID(caller.actor_id),
                before=before,
                limit=limit,
            )

    def update(
        self, view_id: UUID, patch: ViewPatchIn, *, caller: Caller, tx: Transaction | None = None
    ) -> SavedViewRecord:
        """Change name, query or sharing of a view that the person saved.

        Raises:
            NotFound: the person sees no such view.
            PermissionDenied: another person saved it.
            ValidationFailed: the name is not one line of text, or the query cannot stand in an address.
            Conflict: the person has another view of this page with the name.
        """
        with self.storage.write(tx) as tx:
            row = self._get(tx, view_id, caller)
            rules.require_owner(row.user_id, caller=caller)
            changes = _read_changes(patch, row)
            if not changes:
                return row
            if "name" in changes:
                _require_free_name(tx, row.user_id, row.page, str(changes["name"]))
            now = self.clock.now()
            return audited_write.change(
                tx, store.views, row, {**changes, "updated_at": now}, _context(caller, "update", now)
            )

    def delete(self, view_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Delete a view with its name and query; an owner or admin also what a person who left still shares.

        Raises:
            NotFound: the person sees no such view.
            PermissionDenied: another person saved it, who has not left.
        """
        with self.storage.write(tx) as tx:
            row = self._get(tx, view_id, caller)
            person = org_store.get_owned(tx.exec, UserRecord, row.user_id, tenant_id=caller.tenant_id)
            rules.require_may_delete(row.user_id, has_left=person.status == UserStatus.REMOVED, caller=caller)
            now = self.clock.now()
            self.schedules.end_of_view(tx, view_id, actor=caller, at=now)
            audited_write.change(tx, store.views, row, _empty(now), _context(caller, "delete", now))

    def leave(self, tx: Transaction, person: UserRecord, *, actor: Actor, at: datetime) -> None:
        """Delete the views of a person who was removed, but for those that they shared, and mail them no reports."""
        self.schedules.leave(tx, person, actor=actor, at=at)
        for row in store.list_private(tx.exec, person.id):
            self.schedules.end_of_view(tx, row.id, actor=actor, at=at)
            context = AuditContext(person.tenant_id, actor, "saved_view.delete", at)
            audited_write.change(tx, store.views, row, _empty(at), context)

    def _get(self, tx: Transaction, view_id: UUID, caller: Caller) -> SavedViewRecord:
        return store.get(tx.exec, view_id, tenant_id=caller.tenant_id, user_id=UUID(caller.actor_id))


def _read_changes(patch: ViewPatchIn, row: SavedViewRecord) -> dict[str, object]:
    """Read the fields of a patch that differ from the row, by column."""
    given: dict[str, object] = {}
    if "name" in patch.model_fields_set:
        given["name"] = _validate_name(patch.name)
    if "query" in patch.model_fields_set:
        given["query"] = rules.require_query(patch.query)
    if "shared" in patch.model_fields_set:
        given["is_shared"] = patch.shared
    return {column: value for column, value in given.items() if value != getattr(row, column)}


def _empty(at: datetime) -> dict[str, object]:
    return {"name": "", "query": "", "updated_at": at, "deleted_at": at}


def _validate_name(name: str) -> str:
    return validate_display_name("name", name, max_length=rules.MAX_NAME_LENGTH)


def _require_free_name(tx: Transaction, user_id: UUID, page: str, name: str) -> None:
    found = store.find_by_name(tx.exec, user_id, page, name)
    if found is not None:
        message = f"You have a view {quote(name)} of this page already. Choose another name, or change that view."
        raise Conflict(message, details={"view_id": str(found)})


def _context(caller: Caller, verb: str, now: datetime) -> AuditContext:
    return AuditContext(caller.tenant_id, caller, f"saved_view.{verb}", now)
