"""Types of claims: each as JSON Schema 2020-12 for clients, and as a predicate for the hot path.

Schema and predicate must agree; a property test compares them, with `jsonschema` as the judge. Types are strict where
a standard is: days are RFC 3339 full-dates, countries ISO 3166-1 codes, numbers JSON numbers (never a boolean or text).
They are liberal where issuers differ in practice: a licence class may be one text or a list, an employee number may be
a number. Values are JSON as parsed by `core.strict_json.parse_json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final

from attestlab.core.countries import CODES, TRAVEL_DOCUMENT
from attestlab.core.encoding import parse_time
from attestlab.core.errors import ValidationFailed

JsonSchema = dict[str, object]

_DAY: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_YEAR: Final = "^[0-9]{4}([-/]([0-9]{2}|[0-9]{4}))?$"
_SHA256: Final = "^[0-9a-f]{64}$"
_DID: Final = "^did:[a-z0-9]+:([A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})*([A-Za-z0-9._-]|%[0-9A-Fa-f]{2})$"

COUNTRY_CODES: Final = CODES
TRAVEL_CODES: Final = COUNTRY_CODES | TRAVEL_DOCUMENT


@dataclass(frozen=True)
class ClaimType:
    """A type of claim. `expected` completes the sentence "<claim> must be ..."; `code` is a stable error code."""

    code: str
    expected: str
    schema: JsonSchema
    accepts: Callable[[object], bool]
    pointer_suffix: str = ""
    """Location of an error within the claim, as the tail of a JSON Pointer."""


def _matcher(pattern: str) -> Callable[[str], object]:
    # In ECMA-262 `$` matches the very end only; Python's also matches before a final newline, hence fullmatch.
    return re.compile(pattern.removeprefix("^").removesuffix("$")).fullmatch


_is_day_shaped, _is_year, _is_sha256, _is_did = map(_matcher, (_DAY, _YEAR, _SHA256, _DID))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_nonblank_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    # JSON has a single number type: 2.0 is the integer 2 (JSON Schema 2020-12, section 4.2.3).
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_quantity(value: object) -> bool:
    return isinstance(value, (int, float)) and _is_number(value) and value >= 0


def _is_ordinal(value: object) -> bool:
    return isinstance(value, (int, float)) and _is_integer(value) and value >= 1


def _is_identifier(value: object) -> bool:
    return isinstance(value, str) or _is_integer(value)


def _is_grade(value: object) -> bool:
    return isinstance(value, str) or _is_number(value)


def _is_text_or_texts(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _is_place(value: object) -> bool:
    return isinstance(value, (str, dict))


def _is_subject(value: object) -> bool:
    return bool(value) if isinstance(value, dict) else _is_nonblank_text(value)


def _is_date(value: object) -> bool:
    # `date.fromisoformat` alone would also accept 20260531 and 2026-W22-7, which RFC 3339 does not allow.
    if not isinstance(value, str) or not _is_day_shaped(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_date_or_null(value: object) -> bool:
    return value is None or _is_date(value)


def _is_time_or_date(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        parse_time(value)
    except ValidationFailed:
        return _is_date(value)
    return True


def _is_tax_year(value: object) -> bool:
    if isinstance(value, str):
        return _is_year(value) is not None
    return isinstance(value, (int, float)) and _is_integer(value) and 1900 <= value <= 9999


def _is_four_digits(value: object) -> bool:
    return isinstance(value, str) and len(value) == 4 and value.isascii() and value.isdigit()


def _is_country(value: object) -> bool:
    return isinstance(value, str) and value in COUNTRY_CODES


def _is_travel_country(value: object) -> bool:
    return isinstance(value, str) and value in TRAVEL_CODES


def _is_decentralized_id(value: object) -> bool:
    return isinstance(value, str) and _is_did(value) is not None


def _is_document(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    digest = value.get("sha256", "0" * 64)
    return isinstance(digest, str) and _is_sha256(digest) is not None


def _is_json(value: object) -> bool:
    return True


_DATE_SCHEMA: Final[JsonSchema] = {"type": "string", "format": "date", "pattern": _DAY}
_COUNTRY_REF: Final[JsonSchema] = {"$ref": "#/$defs/country"}

CLAIM_TYPES: Final[dict[str, ClaimType]] = {
    "name": ClaimType("not_text", "text that is not blank", {"type": "string", "pattern": "\\S"}, _is_nonblank_text),
    "text": ClaimType("not_text", "text", {"type": "string"}, _is_text),
    "texts": ClaimType(
        "not_texts",
        "text or a list of texts",
        {"type": ["string", "array"], "items": {"type": "string"}},
        _is_text_or_texts,
    ),
    "identifier": ClaimType(
        "not_an_identifier", "text or a whole number", {"type": ["string", "integer"]}, _is_identifier
    ),
    "grade": ClaimType("not_a_grade", "text or a number", {"type": ["string", "number"]}, _is_grade),
    "place": ClaimType("not_a_place", "text or an object", {"type": ["string", "object"]}, _is_place),
    "subject": ClaimType(
        "not_a_subject",
        "text that is not blank, or an object that is not empty",
        {"type": ["string", "object"], "pattern": "\\S", "minProperties": 1},
        _is_subject,
    ),
    "date": ClaimType("not_a_date", "a calendar day such as 2026-05-31", _DATE_SCHEMA, _is_date),
    "end": ClaimType(
        "not_a_date",
        "a calendar day such as 2026-05-31, or null where there is no end",
        {**_DATE_SCHEMA, "type": ["string", "null"]},
        _is_date_or_null,
    ),
    "moment": ClaimType(
        "not_a_time",
        "a time with an offset such as 2026-05-31T12:00:00Z, or a day such as 2026-05-31",
        {"type": "string", "anyOf": [{"format": "date-time"}, _DATE_SCHEMA]},
        _is_time_or_date,
    ),
    "number": ClaimType("not_a_number", "a number", {"type": "number"}, _is_number),
    "quantity": ClaimType("not_a_quantity", "a number of 0 or more", {"type": "number", "minimum": 0}, _is_quantity),
    "ordinal": ClaimType(
        "not_an_ordinal", "a whole number of 1 or more", {"type": "integer", "minimum": 1}, _is_ordinal
    ),
    "year": ClaimType(
        "not_a_year",
        "a year such as 2026, or a text such as 2025-26",
        {"type": ["integer", "string"], "minimum": 1900, "maximum": 9999, "pattern": _YEAR},
        _is_tax_year,
    ),
    "last4": ClaimType(
        "not_four_digits",
        "a text of exactly four digits",
        {"type": "string", "pattern": "^[0-9]{4}$"},
        _is_four_digits,
    ),
    "country": ClaimType(
        "not_a_country",
        "an ISO 3166-1 code in capitals, two or three letters such as NO or NOR",
        _COUNTRY_REF,
        _is_country,
    ),
    "travel_country": ClaimType(
        "not_a_country",
        "an ISO 3166-1 code in capitals such as NO or NOR, or an ICAO Doc 9303 code such as XXA",
        {"anyOf": [_COUNTRY_REF, {"enum": sorted(TRAVEL_DOCUMENT)}]},
        _is_travel_country,
    ),
    "did": ClaimType(
        "not_a_did",
        "a W3C decentralized identifier such as did:example:123",
        {"type": "string", "pattern": _DID},
        _is_decentralized_id,
    ),
    "document": ClaimType(
        "sha256_hex",
        'an object such as {"sha256": "<64 lowercase hex digits>"}',
        {"type": "object", "properties": {"sha256": {"type": "string", "pattern": _SHA256}}},
        _is_document,
        pointer_suffix="/sha256",
    ),
    "json": ClaimType("not_json", "any JSON value", {}, _is_json),
}
