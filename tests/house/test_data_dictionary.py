"""The data dictionary: every field of the public objects, each with its meaning from the line under it."""

import csv
import inspect
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, RootModel

from attestlab.attestations.receipt_content import ReceiptStatement
from attestlab.attestations.rules import Statement
from attestlab.cli.data_dictionary import list_public_models, render_dictionary
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.shapes import find_source, find_wire_name
from attestlab.core.strict_json import parse_json
from attestlab.log import agent_entries, entries
from attestlab.server.app import list_described_routes
from attestlab.web.openapi.meanings import find_meaning

ROOT = Path(__file__).parents[2]
FILE = ROOT / "data" / "dictionary.csv"
AT = datetime(2026, 1, 2, tzinfo=UTC)
ID = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")

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
    "log_entry:status.list": entries.status_list_entry(
        entries.FIRST_LINK, size=1, digest=b"", at=AT, receipts_digest=b""
    ),
    "receipt_statement": ReceiptStatement(
        ID, ID, "k", Algorithm.ED25519, "delivery", "1.0.0", "h", "h", "h", AT
    ).canonical(),
    "log_entry:receipt.minted": entries.receipt_minted_entry(
        receipt_id=ID, issuer_id=ID, kid="k", alg="Ed25519", public_spki=b"", at=AT, commit=b""
    ),
    "log_entry:agent.key": agent_entries.agent_key_entry(
        entries.FIRST_LINK,
        **{"agent_id": ID, "kid": "k", "alg": "Ed25519", "public_spki": b"", "status": "compromised", "at": AT},
        compromised_at=AT,
    ),
    "log_entry:agent.status": agent_entries.agent_status_entry(
        entries.FIRST_LINK, agent_id=ID, status="suspended", at=AT
    ),
    "log_entry:delegation.status": agent_entries.delegation_status_entry(
        entries.FIRST_LINK, delegation_id=ID, hop="A" * 43, status="active", at=AT
    ),
    "log_entry:run.completed": agent_entries.run_completed_entry(
        orchestration_id=ID, status="completed", run_hash="A" * 43, at=AT
    ),
    "log_entry:receipt.status": entries.receipt_status_entry(
        entries.FIRST_LINK, receipt_id=ID, issuer_id=ID, minted_index=0, status="REVOKED", at=AT
    ),
}


@pytest.fixture(scope="module")
def models() -> list[type[BaseModel]]:
    return [each for each in list_public_models(list_described_routes()) if not issubclass(each, RootModel)]


def rows() -> list[dict[str, str]]:
    """The dictionary's rows."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def described() -> dict[str, list[str]]:
    """Object to field names, as the dictionary lists them."""
    found: dict[str, list[str]] = {}
    for row in rows():
        found.setdefault(row["object"], []).append(row["field"])
    return found


def owner(model: type[BaseModel], field: str) -> type:
    """The class that declares a field of a model."""
    return next(base for base in model.__mro__ if field in inspect.get_annotations(base))


def place(model: type) -> str:
    """The file of a class."""
    return str(Path(inspect.getfile(model)).relative_to(ROOT))


def members(raw: bytes) -> set[str]:
    """The names of a JSON object."""
    value: Any = parse_json(raw)
    return set(value)


def test_the_dictionary_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == render_dictionary(), "older than the lines under fields: make reference"


def test_rows_are_complete_and_unique() -> None:
    assert [row for row in rows() if not all(value and value.strip() == value for value in row.values())] == []
    assert [name for name, fields in described().items() if len(fields) != len(set(fields))] == []


def test_every_field_of_an_object_has_a_meaning(models: list[type[BaseModel]]) -> None:
    missing = [
        f"add a line under `{field}` in {place(owner(model, field))}"
        for model in models
        for field in model.model_fields
        if find_meaning(model, field) is None
    ]

    assert missing == []


def test_every_class_with_fields_names_its_source(models: list[type[BaseModel]]) -> None:
    owners = {owner(model, field) for model in models for field in model.model_fields}
    missing = [f"give {each.__name__} a `source` in {place(each)}" for each in owners if find_source(each) is None]

    assert missing == []


def test_objects_have_different_names(models: list[type[BaseModel]]) -> None:
    names = [find_wire_name(model) for model in models]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", MADE)
def test_signed_and_logged_members_are_in_the_dictionary(name: str) -> None:
    assert set(described()[name]) == members(MADE[name])


def test_every_type_of_entry_is_in_the_dictionary() -> None:
    assert {name.removeprefix("log_entry:") for name in MADE if name.startswith("log_entry:")} == set(entries.EntryType)


def test_type_references_resolve() -> None:
    pointed = {name for row in rows() for name in re.findall(r"object (?!or\b)(\w+)", row["type"])}

    assert pointed - set(described()) == {"policy_input"}, "which is a choice of two objects"
