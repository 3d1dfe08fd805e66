"""The columns of data sets: the type of each in Arrow, and its meaning for the data dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

TEXT, WHOLE, NUMBER, BOOL, TEXTS = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.string())
TIME = pa.timestamp("us", tz="UTC")


class Column(NamedTuple):
    """A column: its type, its meaning in the words of a field's (`web/openapi/meanings.py`), whether it may be null."""

    type: pa.DataType
    meaning: str
    nullable: bool = False


def list_types(columns: Mapping[str, Column]) -> dict[str, pa.DataType]:
    """List the types of columns by name."""
    return {name: column.type for name, column in columns.items()}


# Columns of all that an issuer signs: attestations and receipts.
SIGNER = {
    "tenant_id": Column(TEXT, "The tenant of the issuer. Format: UUID, 36 characters."),
    "issuer_id": Column(TEXT, "The issuer that attests. Format: UUID, 36 characters."),
    "kid": Column(TEXT, "The key that signed. Format: a key id."),
    "alg": Column(TEXT, "The algorithm of that key. Format: a signature algorithm."),
}
AT_THE_MINT = {
    "custody": Column(TEXT, "Who holds the private key. Format: managed or external."),
    "snapshot_status": Column(TEXT, "The issuer's status at the mint. Format: an issuer status."),
    "snapshot_trust_tier": Column(TEXT, "The issuer's tier at the mint. Format: a trust tier."),
    "snapshot_risk_rating": Column(TEXT, "The issuer's rating at the mint. Format: a risk rating."),
    "snapshot_jurisdiction": Column(
        TEXT, "The issuer's country at the mint. Format: ISO 3166-1 alpha-2.", nullable=True
    ),
}
DECISION_ID = Column(
    TEXT,
    "The policy decision that allowed the mint; null if no policy applied. Format: dec_ and a ULID.",
    nullable=True,
)
KEY_CREATED_AT = Column(TIME, "When the signing key was registered. Format: UTC, microseconds.")
