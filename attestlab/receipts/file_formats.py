"""File formats of exported receipts: the columns of a receipt as the list shows it, one for each member."""

from __future__ import annotations

from datetime import datetime

from attestlab.core.encoding import b64url_encode
from attestlab.core.table_files import FileFormat, RowShape, list_formats
from attestlab.log.entries import sha256_name
from attestlab.receipts.rendering import render_receipt
from attestlab.receipts.tables import ReceiptRecord

_TIMES = ("retain_until", "issued_at", "revoked_at", "redacted_at")
COLUMNS = (
    *("receipt_id", "tenant_id", "receipt_type", "receipt_version", "schema_hash", "status", "subject", "nonce"),
    *("subject_hash", "issuer_id", "payload", "payload_hash", "metadata", "retention_policy", "retain_until", "alg"),
    *("kid", "signature", "log_id", "log_index", "leaf_hash", "issued_at", "revoked_at", "revocation_reason"),
    *("status_log_index", "redacted_at"),
)
_SOURCES = {
    "receipt_id": "id",
    "metadata": "extra",
    "nonce": "subject_nonce",
    "issued_at": "created_at",
    "status_log_index": "changed_index",
}


def list_receipt_formats(*, log_id: str, portal_url: str) -> dict[str, FileFormat[ReceiptRecord]]:
    """List the formats of receipts of a log by name."""
    return list_formats(
        RowShape(
            COLUMNS,
            lambda row: _list_values(row, log_id),
            lambda row: render_receipt(row, log_id=log_id, portal_url=portal_url).model_dump_json().encode(),
            {**dict.fromkeys(_TIMES, "time"), "log_index": "int", "status_log_index": "int"},
        )
    )


def _list_values(row: ReceiptRecord, log_id: str) -> list[object]:
    """Return the values of a receipt in the order of `COLUMNS`; payload and metadata are JSON texts."""
    values = {**row._asdict(), "log_id": log_id, "leaf_hash": sha256_name(row.leaf_hash)}
    values["payload"] = None if row.payload is None else row.payload.decode()
    return [_show(values[_SOURCES.get(name, name)]) for name in COLUMNS]


def _show(value: object) -> object:
    if isinstance(value, bytes):
        return b64url_encode(value)
    return value if isinstance(value, str | int | datetime | None) else str(value)
