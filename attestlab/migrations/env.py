"""Alembic's environment script; the caller owns the connection, the transaction and the writer's lock."""

from __future__ import annotations

from alembic import context

from attestlab.migrations.models import exists_on


def run() -> None:
    """Run the command's migrations on the connection that it passed."""
    attributes = context.config.attributes
    context.configure(**attributes, include_object=exists_on(attributes["connection"].dialect.name))
    context.run_migrations()


if hasattr(context, "config"):  # true only while Alembic runs a command; importing this file alone has no effect
    run()
