"""Create the table of when keys and sessions were last used.

Revision 0050, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"

# A session gets its next token with its uses; of keys, earlier uses are not known.
_SESSIONS = """INSERT INTO credential_uses (credential_id, actor_id, last_used_at)
SELECT sessions.id, sessions.user_id, max(refresh_tokens.issued_at)
FROM sessions JOIN refresh_tokens ON refresh_tokens.session_id = sessions.id
GROUP BY sessions.id, sessions.user_id"""


def upgrade() -> None:
    """Create the table, and fill it with the last uses of sessions that are known."""
    op.create_table(
        "credential_uses",
        sa.Column("credential_id", sa.Uuid(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("credential_id"),
    )
    op.create_index("ix_credential_uses_of_actor", "credential_uses", ["actor_id", "last_used_at"], unique=False)
    op.execute(_SESSIONS)
