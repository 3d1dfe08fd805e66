"""Queries for saved views; deleted ones are as unknown as missing ones."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.views.shapes import ViewsQuery
from attestlab.views.tables import SavedView, SavedViewRecord

views = table_of(SavedView)
_IS_THERE = views.c.deleted_at.is_(None)


def get(execute: Execute, view_id: UUID, *, tenant_id: UUID, user_id: UUID) -> SavedViewRecord:
    """Get a view that a person may see: one of theirs, or one that is shared with them.

    Raises:
        NotFound: there is no such view.
    """
    query = select(*views.c).where(views.c.id == view_id, *_select_visible(tenant_id, user_id))
    found = fetch_one(execute(query), SavedViewRecord)
    if found is None:
        raise NotFound("view", view_id)
    return found


def list_page(
    execute: Execute, filters: ViewsQuery, *, tenant_id: UUID, user_id: UUID, before: UUID | None, limit: int
) -> list[SavedViewRecord]:
    """List the views that a person may see and filters select, newest first."""
    conditions = [*build_conditions(filters, views.c), *_select_visible(tenant_id, user_id)]
    if before is not None:
        conditions.append(views.c.id < before)
    query = select(*views.c).where(*conditions).order_by(views.c.id.desc()).limit(limit)
    return fetch_all(execute(query), SavedViewRecord)


def list_private(execute: Execute, user_id: UUID) -> list[SavedViewRecord]:
    """List the views that a person does not share."""
    of_user = (views.c.user_id == user_id, views.c.is_shared.is_(False), _IS_THERE)
    return fetch_all(execute(select(*views.c).where(*of_user)), SavedViewRecord)


def count(execute: Execute, user_id: UUID) -> int:
    """Count the views of a person."""
    (found,) = execute(select(func.count()).select_from(views).where(views.c.user_id == user_id, _IS_THERE)).one()
    return int(found)


def find_by_name(execute: Execute, user_id: UUID, page: str, name: str) -> UUID | None:
    """Find a person's view of a page by its name."""
    of_user = (views.c.user_id == user_id, views.c.page == page, views.c.name == name, _IS_THERE)
    found = execute(select(views.c.id).where(*of_user)).first()
    return None if found is None else found.id


def _select_visible(tenant_id: UUID, user_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return (views.c.tenant_id == tenant_id, _IS_THERE, or_(views.c.user_id == user_id, views.c.is_shared))
