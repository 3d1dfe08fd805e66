"""Records.

Revision 0001, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# What keeps the log append-only, by dialect; `attestlab.log.tables` says why.
GUARDS = {
    "sqlite": (
        (
            "CREATE TRIGGER log_leaves_no_update BEFORE UPDATE ON log_leaves BEGIN SELECT RAISE(ABORT, "
            "'log_leaves is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_leaves_no_delete BEFORE DELETE ON log_leaves BEGIN SELECT RAISE(ABORT, "
            "'log_leaves is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_tiles_no_update BEFORE UPDATE ON log_tiles BEGIN SELECT RAISE(ABORT, "
            "'log_tiles is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_tiles_no_delete BEFORE DELETE ON log_tiles BEGIN SELECT RAISE(ABORT, "
            "'log_tiles is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_checkpoints_no_update BEFORE UPDATE ON log_checkpoints BEGIN SELECT "
            "RAISE(ABORT, 'log_checkpoints is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_checkpoints_no_delete BEFORE DELETE ON log_checkpoints BEGIN SELECT "
            "RAISE(ABORT, 'log_checkpoints is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_head_no_delete BEFORE DELETE ON log_head BEGIN SELECT RAISE(ABORT, 'log_head "
            "is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_head_no_update BEFORE UPDATE ON log_head WHEN NEW.size < OLD.size OR "
            "(NEW.size = OLD.size AND NEW.root <> OLD.root) OR NEW.origin <> OLD.origin BEGIN SELECT "
            "RAISE(ABORT, 'log_head is append-only'); END"
        ),
    ),
    "postgresql": (
        (
            "CREATE OR REPLACE FUNCTION log_append_only() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE "
            "EXCEPTION '% is append-only', TG_TABLE_NAME; END$$"
        ),
        (
            "CREATE TRIGGER log_leaves_no_update BEFORE UPDATE OR DELETE OR TRUNCATE ON log_leaves FOR EACH "
            "STATEMENT EXECUTE FUNCTION log_append_only()"
        ),
        (
            "CREATE TRIGGER log_tiles_no_update BEFORE UPDATE OR DELETE OR TRUNCATE ON log_tiles FOR EACH "
            "STATEMENT EXECUTE FUNCTION log_append_only()"
        ),
        (
            "CREATE TRIGGER log_checkpoints_no_update BEFORE UPDATE OR DELETE OR TRUNCATE ON log_checkpoints "
            "FOR EACH STATEMENT EXECUTE FUNCTION log_append_only()"
        ),
        (
            "CREATE TRIGGER log_head_no_delete BEFORE DELETE OR TRUNCATE ON log_head FOR EACH STATEMENT "
            "EXECUTE FUNCTION log_append_only()"
        ),
        (
            "CREATE TRIGGER log_head_no_update BEFORE UPDATE ON log_head FOR EACH ROW WHEN (NEW.size < "
            "OLD.size OR (NEW.size = OLD.size AND NEW.root <> OLD.root) OR NEW.origin <> OLD.origin) EXECUTE "
            "FUNCTION log_append_only()"
        ),
    ),
}


def upgrade() -> None:
    """Record."""
    op.create_table(
        "attestations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("issuer_id", sa.Uuid(), nullable=False),
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("alg", sa.String(length=8), nullable=False),
        sa.Column("schema_id", sa.String(length=40), nullable=False),
        sa.Column("content_type", sa.String(length=40), nullable=False),
        sa.Column("claims", sa.LargeBinary(), nullable=False),
        sa.Column("claims_hash", sa.String(length=43), nullable=False),
        sa.Column("payload_hash", sa.String(length=43), nullable=False),
        sa.Column("payload_size", sa.BigInteger(), nullable=True),
        sa.Column("document_hash", sa.String(length=64), nullable=True),
        sa.Column("expiry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("custody", sa.String(length=8), nullable=False),
        sa.Column("log_index", sa.BigInteger(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("snapshot_status", sa.String(length=10), nullable=False),
        sa.Column("snapshot_trust_tier", sa.String(length=12), nullable=False),
        sa.Column("snapshot_risk_rating", sa.String(length=8), nullable=False),
        sa.Column("snapshot_jurisdiction", sa.String(length=2), nullable=True),
        sa.Column("subject_reference", sa.String(length=256), nullable=True),
        sa.Column("recipient_email", sa.String(length=254), nullable=True),
        sa.Column("extra", sa.LargeBinary(), nullable=True),
        sa.Column("pack_id", sa.Uuid(), nullable=True),
        sa.Column("superseded_by", sa.Uuid(), nullable=True),
        sa.Column("revocation_reason", sa.String(length=1024), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("log_index"),
    )
    op.create_index(op.f("ix_attestations_document_hash"), "attestations", ["document_hash"], unique=False)
    op.create_index("ix_attestations_issuer_id_id", "attestations", ["issuer_id", "id"], unique=False)
    op.create_index("ix_attestations_tenant_id_id", "attestations", ["tenant_id", "id"], unique=False)
    op.create_table(
        "audit_events",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("resource_type", sa.String(length=40), nullable=False),
        sa.Column("resource_id", sa.String(length=128), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("integrity_hash", sa.LargeBinary(), nullable=False),
        sa.Column("prev_hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "seq"),
        sa.UniqueConstraint("id"),
    )
    op.create_index(op.f("ix_audit_events_resource_id"), "audit_events", ["resource_id"], unique=False)
    op.create_table(
        "chain_heads",
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "log_checkpoints",
        sa.Column("size", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("previous_size", sa.BigInteger(), nullable=True),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("size"),
    )
    op.create_table(
        "log_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("origin", sa.String(length=255), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("root", sa.LargeBinary(), nullable=False),
        sa.Column("vkey", sa.String(length=400), nullable=False),
        sa.Column("sealed_key", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "log_leaves",
        sa.Column("index", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("leaf_hash", sa.LargeBinary(), nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=160), nullable=True),
        sa.PrimaryKeyConstraint("index"),
    )
    op.create_index(
        "ix_log_leaves_subject",
        "log_leaves",
        ["subject", "index"],
        unique=False,
        sqlite_where=sa.text("subject IS NOT NULL"),
        postgresql_where=sa.text("subject IS NOT NULL"),
    )
    op.create_table(
        "log_tiles",
        sa.Column("level", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("index", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("level", "index"),
    )
    op.create_table(
        "outbox_events",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("id"),
    )
    op.create_index(op.f("ix_outbox_events_tenant_id"), "outbox_events", ["tenant_id"], unique=False)
    op.create_table(
        "remembered_answers",
        sa.Column("place", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("place"),
    )
    op.create_index(op.f("ix_remembered_answers_created_at"), "remembered_answers", ["created_at"], unique=False)
    op.create_table(
        "tenants",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("plan", sa.String(length=16), nullable=False),
        sa.Column("is_operator", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "usage_days",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("metric", sa.String(length=32), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "metric", "day"),
    )
    op.create_table(
        "verification_tallies",
        sa.Column("issuer_id", sa.Uuid(), nullable=False),
        sa.Column("minute", sa.DateTime(timezone=True), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("counted", sa.BigInteger(), nullable=False),
        sa.Column("untold", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("issuer_id", "minute", "type"),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("prefix", sa.String(length=32), nullable=False),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("environment", sa.String(length=4), nullable=False),
        sa.Column("scopes", sa.String(length=400), nullable=False),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("secret_sha256"),
    )
    op.create_index(op.f("ix_api_keys_tenant_id"), "api_keys", ["tenant_id"], unique=False)
    op.create_table(
        "issuers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("domain", sa.String(length=253), nullable=False),
        sa.Column("legal_name", sa.String(length=200), nullable=True),
        sa.Column("display_name", sa.String(length=200), nullable=True),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("trust_tier", sa.String(length=12), nullable=False),
        sa.Column("risk_rating", sa.String(length=8), nullable=False),
        sa.Column("jurisdiction", sa.String(length=2), nullable=True),
        sa.Column("primary_color", sa.String(length=7), nullable=True),
        sa.Column("accent_color", sa.String(length=7), nullable=True),
        sa.Column("logo_url", sa.String(length=2048), nullable=True),
        sa.Column("revoked_index", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_issuers_tenant_id_id", "issuers", ["tenant_id", "id"], unique=False)
    op.create_table(
        "orgs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("slug", sa.String(length=48), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("slug"),
    )
    op.create_index(op.f("ix_orgs_tenant_id"), "orgs", ["tenant_id"], unique=False)
    op.create_table(
        "issuer_keys",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("issuer_id", sa.Uuid(), nullable=False),
        sa.Column("alg", sa.String(length=8), nullable=False),
        sa.Column("spki", sa.LargeBinary(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("custody", sa.String(length=8), nullable=False),
        sa.Column("status", sa.String(length=12), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("rotated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("compromised_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("log_index", sa.BigInteger(), nullable=False),
        sa.Column("changed_index", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["issuer_id"],
            ["issuers.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "kid"),
    )
    op.create_index("ix_issuer_keys_issuer_id", "issuer_keys", ["issuer_id"], unique=False)
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("password_hash", sa.String(length=200), nullable=False),
        sa.Column("roles", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"],
            ["orgs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("email"),
    )
    op.create_index(op.f("ix_users_tenant_id"), "users", ["tenant_id"], unique=False)
    op.create_index(
        "ix_log_leaves_segment_hash", "log_leaves", [sa.literal_column('("index" >> 12)'), "leaf_hash"], unique=False
    )
    for statement in GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)
