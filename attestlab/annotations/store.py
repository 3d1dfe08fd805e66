"""Queries for annotations; removed ones are as unknown as missing ones."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import func, or_, select

from attestlab.annotations.shapes import AnnotationsQuery
from attestlab.annotations.tables import Annotation, AnnotationRecord
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound

annotation_table = table_of(Annotation)
_IS_THERE = annotation_table.c.removed_at.is_(None)


def get(execute: Execute, annotation_id: UUID, *, tenant_id: UUID) -> AnnotationRecord:
    """Get an annotation of the tenant.

    Raises:
        NotFound: the tenant has no such annotation.
    """
    of_tenant = (annotation_table.c.id == annotation_id, annotation_table.c.tenant_id == tenant_id, _IS_THERE)
    found = fetch_one(execute(select(*annotation_table.c).where(*of_tenant)), AnnotationRecord)
    if found is None:
        raise NotFound("annotation", annotation_id)
    return found


def list_page(
    execute: Execute, filters: AnnotationsQuery, *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[AnnotationRecord]:
    """List the annotations that overlap the period of the filters, newest first."""
    columns = annotation_table.c
    conditions = [columns.tenant_id == tenant_id, _IS_THERE]
    if filters.since is not None:
        conditions.append(or_(columns.at >= filters.since, columns.until > filters.since))
    if filters.until is not None:
        conditions.append(columns.at < filters.until)
    if before is not None:
        conditions.append(columns.id < before)
    query = select(*columns).where(*conditions).order_by(columns.id.desc()).limit(limit)
    return fetch_all(execute(query), AnnotationRecord)


def count(execute: Execute, tenant_id: UUID) -> int:
    """Count the annotations of a tenant."""
    of_tenant = (annotation_table.c.tenant_id == tenant_id, _IS_THERE)
    (found,) = execute(select(func.count()).select_from(annotation_table).where(*of_tenant)).one()
    return int(found)
