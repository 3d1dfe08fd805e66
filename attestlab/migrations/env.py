"""What Alembic runs to reach the database: the caller holds the connection, the transaction and the lock."""

from __future__ import annotations

from alembic import context


def run() -> None:
    """Do what the command asked for, on the connection that came with it."""
    context.configure(**context.config.attributes)
    context.run_migrations()


if hasattr(context, "config"):  # only while Alembic runs a command; whoever merely imports this file changes nothing
    run()
