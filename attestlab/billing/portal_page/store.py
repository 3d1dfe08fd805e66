"""Queries of the portal; every query names its columns and binds values as parameters."""

from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select

from attestlab.billing.portal_page.tables import PortalLink, PortalLinkRecord
from attestlab.core.db.tables import Execute, fetch_one, table_of
from attestlab.orgs.store import orgs

links = table_of(PortalLink)


def find_link_of_token(execute: Execute, token_sha256: bytes) -> PortalLinkRecord | None:
    """Return the link whose token has this SHA-256."""
    return fetch_one(execute(select(*links.c).where(links.c.token_sha256 == token_sha256)), PortalLinkRecord)


def find_link(execute: Execute, link_id: UUID) -> PortalLinkRecord | None:
    """Return a link."""
    return fetch_one(execute(select(*links.c).where(links.c.id == link_id)), PortalLinkRecord)


def delete_links(execute: Execute, tenant_id: UUID, *, before: datetime) -> None:
    """Delete the links of a tenant that expired earlier, with which no session can be open any more."""
    execute(delete(links).where(links.c.tenant_id == tenant_id, links.c.expires_at < before))


def list_return_origins(execute: Execute, tenant_id: UUID) -> set[str]:
    """List the origins that any organization of a tenant allows."""
    stored = execute(select(orgs.c.return_origins).where(orgs.c.tenant_id == tenant_id)).scalars()
    return {origin for listed in stored if listed is not None for origin in json.loads(listed)}
