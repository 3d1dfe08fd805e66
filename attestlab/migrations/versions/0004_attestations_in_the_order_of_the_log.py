"""attestations in the order of the log.

Revision 0004, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """attestations in the order of the log."""
    op.drop_index(op.f("ix_attestations_issuer_id_id"), table_name="attestations")
    op.drop_index(op.f("ix_attestations_tenant_id_id"), table_name="attestations")
    op.create_index("ix_attestations_of_issuer", "attestations", ["issuer_id", "log_index"], unique=False)
    op.create_index("ix_attestations_of_tenant", "attestations", ["tenant_id", "log_index"], unique=False)
