"""Mark the API keys that need a scope for risk, policies and webhooks.

Every key of a tenant could call these before they had scopes. A key that exists keeps that: its mark is null, which
leaves its row, and so its audited digest, as they were. Keys that are created from now on are marked.

Revision 0025, made 2026-11-27, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the mark; no row changes."""
    op.add_column("api_keys", sa.Column("has_group_scopes", sa.Boolean(), nullable=True))
