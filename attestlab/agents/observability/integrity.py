"""Integrity check of agents' events: none was changed, removed or added since it was reported."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from attestlab.agents.observability.store import NUMBERED

CHAIN = NUMBERED.chain


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield the places where the events are not those that were reported, as (chain, problem)."""
    for message in NUMBERED.find_breaks(connection):
        yield CHAIN, message
