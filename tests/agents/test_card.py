"""Agent cards: `a2a-sdk`, joserfc and jwcrypto verify ours, and nothing empty is in them."""

from __future__ import annotations

import json

import jwcrypto.jwk
import jwcrypto.jws
import pytest

from attestlab.agents.cards import rules as cards
from attestlab.agents.cards.rules import CardFacts, CardSource
from attestlab.agents.delegation.rules import ChainVerdict
from attestlab.agents.scopes import parse_scopes
from attestlab.core.crypto import signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode
from support.delegation_world import build_line

KID = "agk_1"
PRIVATE = signing.generate(Algorithm.ED25519)
SKILL = {"id": "read", "name": "Read invoices", "description": "Reads them, all of them ☕", "tags": ["docs"]}
SOURCE: CardSource = {"url": "https://agents.north.example/reader", "version": "2.1.0", "skills": [SKILL]}
FACTS = [
    CardFacts("Invoice reader", "Reads invoices", parse_scopes(["docs:*", "!docs:delete"]), SOURCE),
    CardFacts(
        "Lektor Ä 😀",
        "",
        parse_scopes(["docs:*", "mail:send"]),
        {"url": "https://x.example", "skills": [], "version": ""},
    ),
    CardFacts("Idle", "", parse_scopes([]), None),
]


def signed_card(facts: CardFacts) -> dict[str, object]:
    return cards.sign_card(cards.build_card(facts), KID, PRIVATE)


def list_empty(value: object) -> list[object]:
    members = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [each for each in members if each in ("", [], {}, None)] + [
        each for one in members for each in list_empty(one)
    ]


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: ascii(facts.name))
def test_a2a_sdk_reads_and_verifies_a_card(facts):
    a2a_signing = pytest.importorskip("a2a.utils.signing", reason="a2a-sdk is not installed")
    from a2a.types import AgentCard
    from google.protobuf.json_format import ParseDict
    from jwt import PyJWK

    sent = json.loads(json.dumps(signed_card(facts)))
    key = PyJWK(cards.list_jwks([(KID, PRIVATE.public_key())])["keys"][0])
    verify = a2a_signing.create_signature_verifier(lambda kid, jku: {KID: key}[kid], ["EdDSA"])
    read = ParseDict(sent, AgentCard())

    verify(read)
    assert read.name == facts.name
    read.name += "!"
    with pytest.raises(a2a_signing.InvalidSignaturesError):
        verify(read)


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: ascii(facts.name))
def test_jwcrypto_verifies_the_detached_signature(facts):
    card = signed_card(facts)
    [signature] = card.pop("signatures")
    token = f"{signature['protected']}.{b64url_encode(canonical(card))}.{signature['signature']}"
    judged = jwcrypto.jws.JWS()
    judged.allowed_algs = ["EdDSA"]
    judged.deserialize(token)

    judged.verify(jwcrypto.jwk.JWK(**cards.list_jwks([(KID, PRIVATE.public_key())])["keys"][0]))

    assert judged.jose_header == {"alg": "EdDSA", "kid": KID, "typ": "JOSE"}


@pytest.mark.parametrize("facts", FACTS, ids=lambda facts: ascii(facts.name))
def test_nothing_in_a_card_is_empty(facts):
    assert list_empty(signed_card(facts)) == []


def test_without_skills_each_scope_is_one():
    card = cards.build_card(FACTS[1])

    assert [skill["id"] for skill in card["skills"]] == ["docs:*", "mail:send"]
    assert card["version"] == "1.0.0"
    assert cards.build_card(FACTS[0])["skills"] == [SKILL]


def test_the_owner_of_a_key_signs_the_same_bytes():
    card = cards.build_card(FACTS[0])
    signed = cards.card_signing_input(card, KID)
    signature = signing.sign(Algorithm.ED25519, PRIVATE, signed.encode())

    assert cards.attach_signature(card, f"{signed}.{b64url_encode(signature)}") == signed_card(FACTS[0])


def test_a_second_signature_follows_the_first():
    card = signed_card(FACTS[0])

    again = cards.sign_card(card, "agk_2", PRIVATE)

    assert len(again["signatures"]) == 2
    assert again["signatures"][0] == card["signatures"][0]


def test_the_signature_of_a_card_is_no_hop():
    world, grant = build_line(1, "docs:read")
    key = world.agents[grant.hop.parent].keys[-1]
    members = json.loads(grant.hop.payload())

    [signature] = cards.sign_card(members, key.kid, key.private)["signatures"]

    token = f"{signature['protected']}.{b64url_encode(grant.hop.payload())}.{signature['signature']}"
    assert world.judge([token]).verdict is ChainVerdict.CHAIN_BROKEN
