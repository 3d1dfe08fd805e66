"""Batches of mints: what several items name is read once for all of them, on both engines."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from attestlab.attestations import batch
from attestlab.attestations.minting import PreparedAttestation
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import AttestLabError
from attestlab.installation import Installation
from attestlab.issuers.service import IssuerWithKeys
from attestlab.orgs.rules import Caller
from support.statements import statements_of

ITEMS = 5
Prepared = PreparedAttestation | AttestLabError

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]


@pytest.fixture
def issuer(lab: Installation, caller: Caller) -> IssuerWithKeys:
    return lab.issuers.create({"name": "Northfield", "domain": "north.example"}, caller=caller, alg=Algorithm.ED25519)


def make_item(issuer: IssuerWithKeys, **changes: Any) -> dict[str, Any]:
    named = {"issuer_id": str(issuer.issuer.id), "kid": issuer.keys[0].kid, "alg": "Ed25519", "schema": "degree"}
    return {**named, "claims": {"student_name": "Ada Lovelace"}, **changes}


def prepare(lab: Installation, caller: Caller, items: list[dict[str, Any]]) -> list[Prepared]:
    return batch.prepare_items(lab.attestations, items, caller=caller, client_address="192.0.2.1")


@pytest.mark.parametrize("names", ["a key", "a pack", "no key", "no issuer", "no pack"])
def test_items_that_name_the_same_read_it_once(
    lab: Installation, caller: Caller, issuer: IssuerWithKeys, names: str
) -> None:
    pack = lab.packs.create("Diplomas", caller=caller)
    changes: dict[str, dict[str, Any]] = {
        "a key": {},
        "a pack": {"pack_id": str(pack.id)},
        "no key": {"kid": "none"},
        "no issuer": {"issuer_id": str(uuid4())},
        "no pack": {"pack_id": str(uuid4())},
    }
    counts = []
    for count in (1, ITEMS):
        lab.packs.create(f"Another {count}", caller=caller)  # a commit, after which nothing is cached
        with statements_of(lab) as sent:
            prepared = prepare(lab, caller, [make_item(issuer, **changes[names])] * count)
        assert {isinstance(each, AttestLabError) for each in prepared} == {names.startswith("no ")}
        counts.append(len(sent))

    assert counts[0] == counts[1] > 0


def test_each_item_has_what_it_names(lab: Installation, caller: Caller, issuer: IssuerWithKeys) -> None:
    second = lab.issuers.create({"name": "South", "domain": "south.example"}, caller=caller, alg=Algorithm.ED25519)
    unknown = str(uuid4())
    items = [
        make_item(issuer),
        make_item(second),
        make_item(issuer, pack_id=unknown),
        make_item(issuer, issuer_id=unknown),
        make_item(issuer),
    ]

    prepared = prepare(lab, caller, items)

    assert [_describe(each) for each in prepared] == [
        issuer.issuer.id,
        second.issuer.id,
        f"No attestation pack {unknown} is known.",
        f"No issuer {unknown} is known.",
        issuer.issuer.id,
    ]


def _describe(prepared: Prepared) -> UUID | str:
    return prepared.message if isinstance(prepared, AttestLabError) else prepared.statement.issuer_id
