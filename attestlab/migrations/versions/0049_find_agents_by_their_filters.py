"""Find agents by the filters of their list in an index alone; on SQLite also by a text of name or description.

Revision 0049, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

from alembic import op

revision = "0049"
down_revision = "0048"


def upgrade() -> None:
    """Replace the index of a tenant's agents by a wider one; indexes of PostgreSQL hold no text of 2,048 characters."""
    op.drop_index("ix_agents_of_tenant", table_name="agents")
    op.create_index("ix_agents_of_tenant", "agents", ["tenant_id", "id", "agent_type", "status", "expires_at"])
    if op.get_bind().dialect.name == "sqlite":
        op.create_index("ix_agents_texts", "agents", ["tenant_id", "id", "display_name", "description"])
