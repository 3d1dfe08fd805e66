"""Lookup of the log entry of a receipt, for `GET /v1/log/lookup`."""

from __future__ import annotations

from sqlalchemy import Connection

from attestlab.attestations.lookups import parse_named_id
from attestlab.receipts import store


def find_by_id(connection: Connection, text: str) -> int | None:
    """Return the log index of the receipt with this id, or None.

    Raises:
        ValidationFailed: the text is no UUID.
    """
    return store.find_log_index(connection.execute, parse_named_id("receipt_id", text))


FINDERS = {"receipt_id": find_by_id}
