"""Query of the public page, in addition to those of the capabilities that it shows."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, bindparam, func, select

from attestlab.issuers.store import logos

_HAS_LOGO = select(logos.c.issuer_id).where(
    logos.c.issuer_id == bindparam("issuer_id"), func.length(logos.c.content) > 0
)


def has_logo(connection: Connection, issuer_id: UUID) -> bool:
    """Whether an issuer has a stored logo; the query does not load the image."""
    return connection.execute(_HAS_LOGO, {"issuer_id": issuer_id}).first() is not None
