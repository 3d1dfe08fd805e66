"""Limits of PostgreSQL that a test can wait for, while its database is silent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from attestlab.core.db import postgresql
from attestlab.core.db.storage import Storage

BRIEF = postgresql.Limits(statement_s=0.5, lock_s=0.3, idle_in_write_s=0.5, answer_s=0.8)


def shorten_limits(patch: pytest.MonkeyPatch) -> None:
    """Let storages that serve requests from now on wait for less than a second."""
    patch.setattr(postgresql, "REQUESTS", BRIEF)
    patch.setattr(postgresql, "PROBE_TIMEOUT_S", BRIEF.answer_s)
    patch.setitem(postgresql.CLIENT_OPTIONS, "connect_timeout", 2)  # the driver's least


@contextmanager
def brief_limits(storage: Storage) -> Iterator[None]:
    """Shorten the limits of a storage around an outage alone: on a busy machine all else needs the usual ones."""
    with pytest.MonkeyPatch.context() as patch:
        shorten_limits(patch)
        storage.serve_requests()
        yield
    storage.serve_requests()
