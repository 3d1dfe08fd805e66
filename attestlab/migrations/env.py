"""Alembic's environment script; the caller owns the connection, the transaction and the writer's lock."""

from __future__ import annotations

from alembic import context


def run() -> None:
    """Run the command's migrations on the connection that it passed."""
    context.configure(**context.config.attributes)
    context.run_migrations()


if hasattr(context, "config"):  # true only while Alembic runs a command; importing this file alone has no effect
    run()
