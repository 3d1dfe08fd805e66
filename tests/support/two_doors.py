"""One tenant through both doors of the facade: in process, and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attestlab
from attestlab.client.lab import Lab
from attestlab.orgs.rules import Plan
from support.server_process import ServerProcess

DOORS = ("in process", "over HTTP")


@contextmanager
def open_doors(running: ServerProcess, tenant: str) -> Iterator[dict[str, Lab]]:
    """Open both doors for a new tenant of a running server."""
    installation = running.open_lab()
    made = installation.orgs.create_tenant(tenant, plan=Plan.ENTERPRISE)
    installation.close()
    with (
        attestlab.open(running.database_url, data=running.data) as inside,
        attestlab.connect(running.url, made.api_key) as outside,
    ):
        yield dict(zip(DOORS, (inside.as_(tenant), outside), strict=True))
