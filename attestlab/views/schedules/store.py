"""Queries for reports by mail; columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select

from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.orgs.store import IS_ACTIVE, users
from attestlab.orgs.tables import UserRecord
from attestlab.views.schedules.rules import LEASE_TTL, MAX_RETRY_PAUSE
from attestlab.views.schedules.tables import ViewSchedule, ViewScheduleRecord
from attestlab.views.store import views
from attestlab.views.tables import SavedViewRecord

schedules = table_of(ViewSchedule)
_IS_ON = schedules.c.due_at.is_not(None)


def find(execute: Execute, view_id: UUID) -> ViewScheduleRecord | None:
    """Find the row of a view, also one that was ended."""
    return fetch_one(execute(select(*schedules.c).where(schedules.c.view_id == view_id)), ViewScheduleRecord)


def find_of_views(execute: Execute, view_ids: Collection[UUID]) -> dict[UUID, ViewScheduleRecord]:
    """Find the schedules of views that have one, by the view."""
    query = select(*schedules.c).where(schedules.c.view_id.in_(view_ids), _IS_ON)
    return {row.view_id: row for row in fetch_all(execute(query), ViewScheduleRecord)} if view_ids else {}


def list_due(execute: Execute, now: datetime, *, limit: int) -> list[UUID]:
    """List the views whose report has been due longest."""
    due = select(schedules.c.view_id).where(*_is_due(now)).order_by(schedules.c.next_attempt_at, schedules.c.view_id)
    return list(execute(due.limit(limit)).scalars())


def find_due(execute: Execute, now: datetime) -> ViewScheduleRecord | None:
    """Find the report that has been due longest."""
    due = select(*schedules.c).where(*_is_due(now)).order_by(schedules.c.next_attempt_at, schedules.c.view_id)
    return fetch_one(execute(due.limit(1)), ViewScheduleRecord)


def list_of_recipient(execute: Execute, user_id: UUID, *, tenant_id: UUID) -> list[ViewScheduleRecord]:
    """List the schedules that name a person."""
    named = (schedules.c.tenant_id == tenant_id, _IS_ON, schedules.c.recipients.contains(str(user_id)))
    return fetch_all(execute(select(*schedules.c).where(*named)), ViewScheduleRecord)


def find_view(execute: Execute, view_id: UUID) -> SavedViewRecord | None:
    """Find a view of any person, unless it was deleted."""
    there = (views.c.id == view_id, views.c.deleted_at.is_(None))
    return fetch_one(execute(select(*views.c).where(*there)), SavedViewRecord)


def list_members(execute: Execute, user_ids: Collection[UUID], *, tenant_id: UUID) -> list[UserRecord]:
    """List those of the people who are members of the tenant and can sign in."""
    query = select(*users.c).where(users.c.id.in_(user_ids), users.c.tenant_id == tenant_id, IS_ACTIVE)
    return fetch_all(execute(query), UserRecord)


def find_statuses(execute: Execute, user_ids: Collection[UUID], *, tenant_id: UUID) -> dict[UUID, str | None]:
    """Find the status of those of the people who are the tenant's."""
    query = select(users.c.id, users.c.status).where(users.c.id.in_(user_ids), users.c.tenant_id == tenant_id)
    return {row.id: row.status for row in execute(query)}


def _is_due(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Whether a report is due, or was leased or paused while a clock was wrong."""
    attempt = schedules.c.next_attempt_at
    is_wrong = (attempt > now + MAX_RETRY_PAUSE + LEASE_TTL) & (schedules.c.due_at <= now)
    return (_IS_ON, or_(attempt <= now, is_wrong))
