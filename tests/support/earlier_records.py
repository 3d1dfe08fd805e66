"""Records as an earlier version left them, for tests of the upgrade."""

from __future__ import annotations

from sqlalchemy import Connection


def undo_revision_26(connection: Connection) -> None:
    """Takes away what pasts of logins need: their tables, and the generation of documents."""
    for table in ("risk_login_backfill", "risk_login_learning"):
        connection.exec_driver_sql(f"DROP TABLE {table}")
    connection.exec_driver_sql(
        "CREATE TABLE documents_of_before AS "
        "SELECT tenant_id, digest, kind, document, expires_at FROM risk_login_documents"
    )
    connection.exec_driver_sql("DROP TABLE risk_login_documents")
    connection.exec_driver_sql("ALTER TABLE documents_of_before RENAME TO risk_login_documents")


def undo_revision_27(connection: Connection) -> None:
    """Give the tallies of verifications back the name that their column had."""
    connection.exec_driver_sql("ALTER TABLE verification_tallies RENAME COLUMN unpublished TO untold")


def undo_revision_28(connection: Connection) -> None:
    """Drop the tables of the blog."""
    for table in ("blog_slugs", "blog_posts", "blog_media"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_29(connection: Connection) -> None:
    """Drop the tables of consumers' accounts, and the tokens in mailed links."""
    for table in ("consumer_accounts", "consumer_addresses", "consumer_signups", "mailed_tokens"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_30(connection: Connection) -> None:
    """Move the items of the inbox back to the deliveries, of which an attestation had one."""
    connection.exec_driver_sql(
        "CREATE TABLE deliveries AS "
        "SELECT attestation_id, tenant_id, issuer_id, recipient_email, user_id, state, created_at, delivered_at "
        "FROM inbox_items"
    )
    for table in ("inbox_items", "inbox_counts"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_31(connection: Connection) -> None:
    """Drop the tables of protections."""
    for table in ("protection_days", "protections", "platform_issuers"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_34(connection: Connection) -> None:
    """Drop the tables of billing, the add-ons of tenants, and the index of usage by its day."""
    for table in ("usage_thresholds", "invoices", "subscribed_addons", "subscriptions"):
        connection.exec_driver_sql(f"DROP TABLE {table}")
    connection.exec_driver_sql("DROP INDEX ix_usage_days_of_day")
    connection.exec_driver_sql("ALTER TABLE tenants DROP COLUMN addons")


def undo_revision_35(connection: Connection) -> None:
    """Drop the tables of the billing portal and of providers."""
    for table in ("billing_provider_events", "billing_customers", "billing_portal_links"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_32(connection: Connection) -> None:
    """Drop the table of receipt types."""
    connection.exec_driver_sql("DROP TABLE receipt_types")


def undo_revision_33(connection: Connection) -> None:
    """Drop the table of receipts."""
    connection.exec_driver_sql("DROP TABLE receipts")


def undo_revision_36(connection: Connection) -> None:
    """Drop the tables of agents and their sessions."""
    sessions = ("agent_session_uses", "agent_refresh_tokens", "agent_sessions", "agent_assertions")
    for table in (*sessions, "agent_challenges", "agent_keys", "agents"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_37(connection: Connection) -> None:
    """Drop the table of delegations."""
    connection.exec_driver_sql("DROP TABLE delegations")


def undo_revision_38(connection: Connection) -> None:
    """Drop the addresses of invitations that no one can accept."""
    connection.exec_driver_sql("ALTER TABLE users DROP COLUMN invited_address")


def undo_revision_39(connection: Connection) -> None:
    """Drop the tables of votes."""
    for table in ("votes", "vote_requests"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_43(connection: Connection) -> None:
    """Drop the tables of compliance and trust, and the columns of agents that follow from them."""
    for table in ("agent_trust_due", "agent_trust_changes", "compliance_checks"):
        connection.exec_driver_sql(f"DROP TABLE {table}")
    for column in ("trust_score", "passed_check_at"):
        connection.exec_driver_sql(f"ALTER TABLE agents DROP COLUMN {column}")


def undo_revision_40(connection: Connection) -> None:
    """Drop the settings of agents, the signatures of their cards, and when their owners left."""
    connection.exec_driver_sql("DROP TABLE agent_settings")
    connection.exec_driver_sql("DROP INDEX ix_agents_left")
    for column in ("card_signature", "owner_left_at"):
        connection.exec_driver_sql(f"ALTER TABLE agents DROP COLUMN {column}")


def undo_revision_41(connection: Connection) -> None:
    """Drop the table of agents' events."""
    connection.exec_driver_sql("DROP TABLE agent_events")


def undo_revision_42(connection: Connection) -> None:
    """Drop the tables of runs."""
    for table in ("agent_run_steps", "agent_runs"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_44(connection: Connection) -> None:
    """Drop the indexes of the keys of receipts and of invitations."""
    for index in ("ix_receipts_of_key", "ix_users_invited"):
        connection.exec_driver_sql(f"DROP INDEX {index}")


def undo_revision_45(connection: Connection) -> None:
    """Drop the assignees of cases, and what their outcomes and kinds are found by."""
    connection.exec_driver_sql("DROP INDEX ix_risk_cases_unlabelled")
    for column in ("assignee_id", "label_at", "top_kind"):
        connection.exec_driver_sql(f"ALTER TABLE risk_cases DROP COLUMN {column}")


def undo_revision_46(connection: Connection) -> None:
    """Drop the index of the addresses of invitations."""
    connection.exec_driver_sql("DROP INDEX ix_users_invited_address")


def undo_revision_47(connection: Connection) -> None:
    """Drop the table of comments of cases."""
    connection.exec_driver_sql("DROP TABLE risk_case_comments")


def undo_revision_48(connection: Connection) -> None:
    """Drop the new indexes of the search; PostgreSQL makes the others again, whatever their operators are."""
    for index in ("ix_attestations_of_tenant_by_id", "ix_policy_decisions_of_tenant", "ix_risk_links_of_first"):
        connection.exec_driver_sql(f"DROP INDEX {index}")


def undo_revision_49(connection: Connection) -> None:
    """Make the index of a tenant's agents as narrow as it was; only SQLite has one of their texts."""
    connection.exec_driver_sql("DROP INDEX ix_agents_of_tenant")
    connection.exec_driver_sql("DROP INDEX IF EXISTS ix_agents_texts")
    connection.exec_driver_sql("CREATE INDEX ix_agents_of_tenant ON agents (tenant_id, id)")


def undo_revision_52(connection: Connection) -> None:
    """Drop the table of reports by mail, and the columns of files that are attached to mails."""
    connection.exec_driver_sql("DROP TABLE view_schedules")
    for column in ("attachment_name", "sealed_attachment"):
        connection.exec_driver_sql(f"ALTER TABLE mails DROP COLUMN {column}")


def undo_revision_51(connection: Connection) -> None:
    """Drop the tables of saved views and of annotations."""
    for table in ("saved_views", "annotations"):
        connection.exec_driver_sql(f"DROP TABLE {table}")


def undo_revision_50(connection: Connection) -> None:
    """Drop the table of the last uses of keys and sessions."""
    connection.exec_driver_sql("DROP TABLE credential_uses")


UNDO = {
    26: undo_revision_26,
    27: undo_revision_27,
    28: undo_revision_28,
    29: undo_revision_29,
    30: undo_revision_30,
    31: undo_revision_31,
    32: undo_revision_32,
    33: undo_revision_33,
    34: undo_revision_34,
    35: undo_revision_35,
    36: undo_revision_36,
    37: undo_revision_37,
    38: undo_revision_38,
    39: undo_revision_39,
    40: undo_revision_40,
    43: undo_revision_43,
    44: undo_revision_44,
    41: undo_revision_41,
    42: undo_revision_42,
    45: undo_revision_45,
    46: undo_revision_46,
    47: undo_revision_47,
    48: undo_revision_48,
    49: undo_revision_49,
    51: undo_revision_51,
    52: undo_revision_52,
    50: undo_revision_50,
}


def undo_revisions_since(connection: Connection, first: int) -> None:
    """Undo this revision and all after it, newest first."""
    for revision in sorted(UNDO, reverse=True):
        if revision >= first:
            UNDO[revision](connection)
