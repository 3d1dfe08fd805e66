"""Claims that fit and claims that do not, by kind; and what a typical issuer sends for each schema."""

from typing import Any

from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.attestations.schemas.claim_types import CLAIM_TYPES

HASH = "0" * 63 + "f"

VALID_CLAIMS: dict[str, list[Any]] = {
    "name": ["Ada Lovelace", " x "],
    "text": ["", "BSc"],
    "texts": ["CE", [], ["B", "C1"]],
    "identifier": ["X-0017", "", 4711, 2.0],
    "grade": ["A-", 1.3, 92],
    "place": ["Oslo", {"lat": 59.9}, {}],
    "subject": ["urn:isbn:0", {"name": "Ada"}],
    "date": ["2026-05-31", "2024-02-29", "0001-01-01", "9999-12-31"],
    "end": ["2031-05-31", None],
    "moment": ["2026-05-31T12:00:00Z", "2026-05-31t12:00:00.123456789+02:00", "2026-05-31"],
    "number": [-1, 0, 97.5],
    "quantity": [0, 3.85, 120],
    "ordinal": [1, 2.0],
    "year": [2025, 2025.0, "2025", "2025-26", "2024/2025"],
    "last4": ["0042"],
    "country": ["NO", "NOR"],
    "travel_country": ["GB", "GBR", "GBN", "XXA", "D"],
    "did": ["did:example:123", "did:web:example.com:user:%C3%A5sa"],
    "document": [{"sha256": HASH}, {"sha256": HASH, "pages": 3}, {}],
    "json": [None, False, {"a": [1, None]}],
}
INVALID_CLAIMS: dict[str, list[Any]] = {
    "name": ["", " \t\n", None, 7, ["Ada"]],
    "text": [None, True, 7, {}],
    "texts": [None, 7, ["B", 1], [None], {}],
    "identifier": [None, True, 1.5, []],
    "grade": [None, False, []],
    "place": [None, 7, []],
    "subject": ["", "  ", {}, [], None, 7],
    "date": [
        "",
        "2026-5-31",
        "20260531",
        "2026-W22-7",
        "2026-02-29",
        "0000-01-01",
        "2026-05-31T12:00:00Z",
        20260531,
        None,
    ],
    "end": ["", "never", "2026-05-31\n", 0],
    "moment": [
        "",
        "2026-05-31T12:00:00",
        "2026-05-31 12:00:00Z",
        "2026-05-31T24:00:00Z",
        "2026-02-30",
        1780000000,
        None,
    ],
    "number": [True, "97.5", None, [1]],
    "quantity": [False, -1, -0.5, "40", None],
    "ordinal": [True, 0, -1, 1.5, "2", None],
    "year": [True, 1899, 10000, 2025.5, "25", "2025-2", None],
    "last4": ["42", "00042", "004a", "٠٠٤٢", "0042\n", 42, None],
    "country": ["no", "ZZ", "Norway", "XXA", "", 47, None, ["NO"]],
    "travel_country": ["d", "D<<", "ZZZ", "", None],
    "did": [
        "did:",
        "did:example",
        "did:example:",
        "did:Example:1",
        "did:example:1\n",
        "did:example:%4",
        "did:example:1#key",
        None,
    ],
    "document": [
        "0" * 64,
        None,
        [],
        {"sha256": HASH.upper()},
        {"sha256": "0" * 63},
        {"sha256": HASH + "\n"},
        {"sha256": None},
    ],
    "json": [],
}


def claim_type_name(schema_id: str, claim: str) -> str:
    """The name under which a claim's kind stands in `CLAIM_TYPES`."""
    return next(name for name, kind in CLAIM_TYPES.items() if kind is CATALOGUE[schema_id].claim_types[claim])


def make_claims(schema_id: str) -> dict[str, Any]:
    """What an issuer sends: every claim of the schema, each of its kind."""
    return {claim: VALID_CLAIMS[claim_type_name(schema_id, claim)][0] for claim in CATALOGUE[schema_id].claim_types}
