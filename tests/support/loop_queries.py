"""Queries that the event loop's thread makes of tables that grow without bound: other requests wait for them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from attestlab.installation import Installation

_GROWING = re.compile(r"FROM (attestations|audit_events|issuer_requests|webhook_deliveries)\b")


@contextmanager
def growing_tables_read_on_the_loop(lab: Installation) -> Iterator[list[str]]:
    """The queries that the loop's thread makes inside the block, of tables that grow without bound."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not threading.current_thread().name.startswith("attestlab-") and _GROWING.search(statement):
            seen.append(statement)

    engine = lab.storage.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine, "before_cursor_execute", note)
