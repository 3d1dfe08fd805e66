"""The data dictionary: every field of the public objects, no more, and none without its meaning."""

import csv
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, RootModel

from attestlab.attestations.rules import Statement
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.strict_json import parse_json
from attestlab.lake import views
from attestlab.log import entries
from attestlab.server.api_reference import load_vocabulary
from attestlab.server.api_vocabulary import OBJECTS
from attestlab.web.openapi.vocabulary import PATH

FILE = Path(__file__).parents[2] / "data" / "dictionary.csv"
COLUMNS = ["object", "field", "type", "format", "meaning", "source"]
AT = datetime(2026, 1, 2, tzinfo=UTC)
ID = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")

BODIES = {name: shape for name, shape in OBJECTS.items() if not issubclass(shape, RootModel)}
SENT = {name: shape for name, shape in BODIES.items() if not name.endswith(("_query", "_filters"))}
MADE: dict[str, bytes] = {
    "statement": Statement(
        ID, ID, "k", Algorithm.ED25519, "degree", "application/pdf", "h", None, "h", None, AT
    ).canonical(),
    "log_entry:attestation.minted": entries.minted_entry(
        attestation_id=ID, issuer_id=ID, kid="k", alg="Ed25519", public_spki=b"", at=AT, commit=b""
    ),
    "log_entry:attestation.status": entries.attestation_status_entry(
        entries.FIRST_LINK, attestation_id=ID, issuer_id=ID, minted_index=0, status="REVOKED", at=AT
    ),
    "log_entry:key.status": entries.key_status_entry(
        entries.FIRST_LINK,
        **{"issuer_id": ID, "kid": "k", "alg": "Ed25519", "public_spki": b"", "status": "compromised", "at": AT},
        reason="lost",
        compromised_at=AT,
    ),
    "log_entry:issuer.status": entries.issuer_status_entry(
        entries.FIRST_LINK,
        issuer_id=ID,
        status="ACTIVE",
        trust_tier="BASIC",
        risk_rating="LOW",
        jurisdiction="NO",
        profile=entries.profile_name("N", None),
        at=AT,
    ),
    "log_entry:status.list": entries.status_list_entry(entries.FIRST_LINK, size=1, digest=b"", at=AT),
}
LAKE = {f"lake:{view.name}": {*view.sources[0].columns} for view in views.ALL}
LAKE["lake:attestations"] |= {*views.STATUS_COLUMNS}
LAKE["lake:decisions"] |= {"<attribute>"}


def rows() -> list[dict[str, str]]:
    """The dictionary's rows."""
    with FILE.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def described() -> dict[str, list[str]]:
    """Object to field names, as the dictionary lists them."""
    found: dict[str, list[str]] = {}
    for row in rows():
        found.setdefault(row["object"], []).append(row["field"])
    return found


def on_the_wire(shape: type[BaseModel]) -> set[str]:
    """The names that a shape's fields have in JSON."""
    return {field.serialization_alias or field.alias or name for name, field in shape.model_fields.items()}


def members(raw: bytes) -> set[str]:
    """The names of a JSON object."""
    value: Any = parse_json(raw)
    return set(value)


def test_rows_are_complete_and_unique():
    assert [
        row for row in rows() if not all(row[column] and row[column].strip() == row[column] for column in COLUMNS)
    ] == []
    assert [name for name, fields in described().items() if len(fields) != len(set(fields))] == []


def test_described_objects_are_public():
    """
    With the two tests below: nothing public is missing, nothing described is gone.
    """
    without_own = {name for name, shape in OBJECTS.items() if not shape.__annotations__}

    assert set(described()) == (set(OBJECTS) - without_own) | set(MADE) | set(LAKE) | {PATH}
    assert {name.removeprefix("log_entry:") for name in MADE if name.startswith("log_entry:")} == set(entries.EntryType)


def test_every_field_of_a_body_or_query_is_in_the_dictionary():
    """A query or a patch needs no line for what the object has that it extends."""
    words, lines = load_vocabulary(), described()
    fields = {name: on_the_wire(shape) for name, shape in BODIES.items()}
    gone = [f"{name}.{field}" for name in BODIES for field in lines.get(name, ()) if field not in fields[name]]
    missing = [
        f"{name}.{field}"
        for name, shape in BODIES.items()
        for field in sorted(fields[name])
        if words.find_meaning(shape, field) is None
    ]

    assert missing == [], f"each needs its line in {FILE.name}: {missing}"
    assert gone == [], f"these lines of {FILE.name} describe no field: {gone}"


@pytest.mark.parametrize("name", MADE)
def test_signed_and_logged_members_are_in_the_dictionary(name: str):
    assert set(described()[name]) == members(MADE[name])


@pytest.mark.parametrize("name", LAKE)
def test_every_column_of_the_lake_is_in_the_dictionary(name: str):
    assert set(described()[name]) == LAKE[name]


def test_type_references_resolve():
    pointed = {name for row in rows() for name in re.findall(r"object (\w+)", row["type"])} - {"or"}

    assert pointed - set(described()) == set()


def test_nullable_fields_are_marked():
    """
    A reader who trusts the type column must not meet a null that it did not announce.
    """
    types = {(row["object"], row["field"]): row["type"] for row in rows()}
    for name, shape in SENT.items():
        schema = shape.model_json_schema(mode="serialization")
        schema = schema["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema  # it is recursive
        for field, declared in schema["properties"].items():
            nullable = {"type": "null"} in declared.get("anyOf", [])
            announced = types.get((name, field))
            assert announced is None or announced.endswith(" or null") == nullable, (name, field)
