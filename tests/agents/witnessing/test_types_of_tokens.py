"""No token of an agent passes for one of another type, though the same key signs all; joserfc and jwcrypto judge.

A statement, a hop, a vote, an assertion and the signature of a card each name their type in the protected header.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import NamedTuple
from uuid import UUID, uuid4

import jwcrypto.jwk
import jwcrypto.jws
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc import jwk as joserfc_jwk
from joserfc import jws as joserfc_jws

from attestlab.agents.cards import rules as card
from attestlab.agents.delegation import hops
from attestlab.agents.rules import STATEMENT_TYPE
from attestlab.agents.scopes import parse_scopes
from attestlab.agents.sessions.rules import ASSERTION_TYPE, read_assertion
from attestlab.agents.witnessing import vote_tokens
from attestlab.agents.witnessing.rules import VoteVerdict
from attestlab.agents.witnessing.vote_tokens import UnsignedVote
from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import AttestLabError

ALG, KID = vote_tokens.ALGORITHM, "agk_1"
NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
AGENT, OTHER = UUID(int=1), UUID(int=2)
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(32))
JWK = signing.jwk(ALG, PRIVATE.public_key(), KID)


class Kind(NamedTuple):
    """A type of token: what an agent signs as one, and what reads it."""

    typ: str
    payload: bytes
    read: Callable[[str], object]


def read_typed(typ: str) -> Callable[[str], object]:
    return lambda token: jws.read_typed(token, alg=ALG, typ=typ)


VOTE = UnsignedVote(uuid4(), AGENT, OTHER, "A" * 43, VoteVerdict.CONFIRM, None, None, NOON)
HOP = hops.Hop(
    id=str(AGENT),
    tenant_id=str(OTHER),
    parent=str(AGENT),
    child=str(OTHER),
    child_key="A" * 43,
    scopes=parse_scopes(["docs:read"]),
    depth=1,
    issued_at=NOON,
    expires_at=NOON + timedelta(hours=1),
    prev=None,
)
ASSERTION = {"iss": str(AGENT), "sub": str(AGENT), "aud": "https://a.example", "exp": 2_000_000_000, "jti": "1"}
KINDS = {
    "vote": Kind(vote_tokens.TYP, VOTE.payload(), vote_tokens.read_issued_at),
    "hop": Kind(hops.TYP, HOP.payload(), hops.read_hop),
    "assertion": Kind(ASSERTION_TYPE, canonical(ASSERTION), read_assertion),
    "statement": Kind(STATEMENT_TYPE, canonical({"statement": {"a": 1}}), read_typed(STATEMENT_TYPE)),
    "card": Kind(card.CARD_TYP, canonical({"name": "A"}), read_typed(card.CARD_TYP)),
}


PAIRS = list(permutations(KINDS, 2))


def sign(typ: str, payload: bytes) -> str:
    return jws.sign_typed(ALG, PRIVATE, KID, typ, payload)


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")
@pytest.mark.parametrize("name", KINDS)
def test_each_token_is_read_and_others_verify_it_and_its_type(name: str) -> None:
    kind = KINDS[name]
    token = sign(kind.typ, kind.payload)

    kind.read(token)
    judged = joserfc_jws.deserialize_compact(token, joserfc_jwk.OKPKey.import_key({**JWK}), algorithms=["EdDSA"])
    theirs = jwcrypto.jws.JWS()
    theirs.allowed_algs = ["EdDSA"]
    theirs.deserialize(token, jwcrypto.jwk.JWK(**JWK))

    assert judged.protected == theirs.jose_header == {"alg": "EdDSA", "kid": KID, "typ": kind.typ}
    assert judged.payload == theirs.payload == kind.payload


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")
@pytest.mark.parametrize(("signed", "wanted"), PAIRS)
def test_no_token_passes_as_another_type(signed: str, wanted: str) -> None:
    """Not with its own payload, nor with that of the other type, whose signature others find valid."""
    for payload in (KINDS[signed].payload, KINDS[wanted].payload):
        token = sign(KINDS[signed].typ, payload)
        judged = joserfc_jws.deserialize_compact(token, joserfc_jwk.OKPKey.import_key({**JWK}), algorithms=["EdDSA"])
        assert judged.protected["typ"] != KINDS[wanted].typ

        with pytest.raises(AttestLabError):
            KINDS[wanted].read(token)


@pytest.mark.parametrize(("signed", "wanted"), PAIRS)
def test_a_signature_does_not_move_below_the_header_of_another_type(signed: str, wanted: str) -> None:
    payload = KINDS[wanted].payload
    signature = sign(KINDS[signed].typ, payload).rpartition(".")[2]
    moved = f"{sign(KINDS[wanted].typ, payload).rpartition('.')[0]}.{signature}"
    theirs = jwcrypto.jws.JWS()
    theirs.allowed_algs = ["EdDSA"]

    with pytest.raises(jwcrypto.jws.InvalidJWSSignature):
        theirs.deserialize(moved, jwcrypto.jwk.JWK(**JWK))
