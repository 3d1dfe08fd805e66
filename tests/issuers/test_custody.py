"""Managed keys sign and never show; external keys are only known by their public half. Judged by joserfc."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from joserfc import jwk, jws

from attestlab.core.crypto import signing
from attestlab.core.crypto.jws import sign_compact
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import Conflict, IntegrityFailed, NotFound, ValidationFailed
from attestlab.installation import Installation
from attestlab.issuers.new_keys import NewKey
from attestlab.issuers.service import IssuerWithKeys
from attestlab.issuers.store import SigningKey
from attestlab.orgs.rules import Caller
from support.release_bundles import LARGE_EXPONENT, make_rsa_key

Smith = tuple[Installation, Caller]
# The contract names EdDSA, which RFC 9864 has since split in two; the judge says so each time.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated via RFC 9864")

PROFILE = {"name": "Smithy", "domain": "smithy.example"}


def register(smith: Smith, alg: Algorithm | None = None) -> IssuerWithKeys:
    lab, caller = smith
    return lab.issuers.create(PROFILE, caller=caller, alg=alg)


def signing_key(smith: Smith, issuer_id: Any, kid: str) -> SigningKey:
    lab, caller = smith
    with lab.storage.read() as connection:
        return lab.issuers.get_signing_key(connection, tenant_id=caller.tenant_id, issuer_id=issuer_id, kid=kid)


@pytest.mark.parametrize("alg", list(Algorithm))
def test_a_managed_key_signs_and_the_published_key_verifies(keysmith: Smith, alg: Algorithm) -> None:
    made = register(keysmith, alg)
    issuers, issuer_id, kid = keysmith[0].issuers, made.issuer.id, made.keys[0].kid
    key = signing_key(keysmith, issuer_id, kid)

    token = sign_compact(alg, issuers.unseal_private_key(key), kid, b"{}")

    [published] = issuers.jwks(issuer_id)
    assert (published["kid"], published["use"], published["status"]) == (kid, "sig", "active")
    found = jws.deserialize_compact(token, jwk.import_key(published), algorithms=[alg.jose])
    assert found.payload == b"{}"


@pytest.mark.parametrize("alg", list(Algorithm))
def test_an_external_key_is_published_and_cannot_sign_here(keysmith: Smith, alg: Algorithm) -> None:
    lab, caller = keysmith
    issuer_id, private = register(keysmith).issuer.id, signing.generate(alg)
    kid = f"ext-{uuid4()}"
    row = lab.signing_keys.add(
        issuer_id, kid=kid, alg=alg, public_key=signing.spki(private.public_key()), caller=caller
    )

    [published] = lab.issuers.jwks(issuer_id)
    found = jws.deserialize_compact(
        sign_compact(alg, private, kid, b"{}"), jwk.import_key(published), algorithms=[alg.jose]
    )

    assert found.payload == b"{}"
    assert (row.custody, row.sealed) == ("external", None)
    with pytest.raises(Conflict, match="external"):
        lab.issuers.unseal_private_key(signing_key(keysmith, issuer_id, kid))


def test_ed25519_key_is_accepted_raw_or_as_spki(keysmith: Smith) -> None:
    lab, caller = keysmith
    issuer_id = register(keysmith).issuer.id
    spkis = [signing.spki(signing.generate(Algorithm.ED25519).public_key()) for _ in range(2)]
    kept = [
        lab.signing_keys.add(issuer_id, kid=f"e-{uuid4()}", alg=Algorithm.ED25519, public_key=sent, caller=caller).spki
        for sent in (spkis[0][-32:], spkis[1])
    ]

    assert kept == spkis


def test_rejected_public_key_is_not_stored(keysmith: Smith) -> None:
    lab, caller = keysmith
    issuer_id = register(keysmith).issuer.id
    with lab.storage.read() as connection:
        size = lab.log.head(connection).size

    with pytest.raises(ValidationFailed) as refused:
        lab.signing_keys.add(issuer_id, kid="bad", alg=Algorithm.ES256, public_key=bytes(91), caller=caller)

    assert refused.value.fields[0].field == "/public_key_b64url"
    assert list(lab.issuers.list_keys(issuer_id, caller=caller)) == []
    with lab.storage.read() as connection:
        assert lab.log.head(connection).size == size


def test_rsa_key_with_a_long_exponent_is_not_registered(keysmith: Smith) -> None:
    lab, caller = keysmith
    issuer_id = register(keysmith).issuer.id
    public_key = signing.spki(make_rsa_key(LARGE_EXPONENT).public_key())

    with pytest.raises(ValidationFailed, match="exponent") as refused:
        lab.signing_keys.add(issuer_id, kid="long", alg=Algorithm.RS256, public_key=public_key, caller=caller)

    assert refused.value.fields[0].field == "/public_key_b64url"


def test_given_key_pair_is_used(keysmith: Smith) -> None:
    lab, caller = keysmith
    pair = signing.generate(Algorithm.ES384)
    made = lab.issuers.create(PROFILE, caller=caller, alg=Algorithm.ES384, private=pair)

    assert made.keys[0].spki == signing.spki(pair.public_key())
    key = signing_key(keysmith, made.issuer.id, made.keys[0].kid)
    assert signing.dump_private(lab.issuers.unseal_private_key(key)) == signing.dump_private(pair)


def test_a_private_half_is_unsealed_once(keysmith: Smith) -> None:
    made = register(keysmith, Algorithm.ED25519)
    first, second = (signing_key(keysmith, made.issuer.id, made.keys[0].kid) for _ in range(2))

    assert keysmith[0].issuers.unseal_private_key(first) is keysmith[0].issuers.unseal_private_key(second)


def test_a_sealed_half_moved_to_another_key_does_not_open(keysmith: Smith) -> None:
    made, other = (register(keysmith, Algorithm.ED25519) for _ in range(2))
    mine, theirs = (signing_key(keysmith, one.issuer.id, one.keys[0].kid) for one in (made, other))

    for exchanged in (
        replace(mine, sealed=theirs.sealed),
        replace(mine, kid=theirs.kid),
        replace(mine, issuer_id=theirs.issuer_id),
        replace(mine, tenant_id=uuid4()),
        replace(mine, alg=Algorithm.ES256),
    ):
        with pytest.raises(IntegrityFailed):
            keysmith[0].issuers.unseal_private_key(exchanged)


def test_no_file_contains_a_private_key(keysmith: Smith) -> None:
    """Neither the PKCS #8 document nor, of Ed25519, the 32 bytes that matter."""
    lab, _ = keysmith
    made = register(keysmith, Algorithm.ED25519)
    key = signing_key(keysmith, made.issuer.id, made.keys[0].kid)
    private = signing.dump_private(lab.issuers.unseal_private_key(key))
    files = b"".join(path.read_bytes() for path in sorted(lab.settings.data.rglob("*")) if path.is_file())

    assert key.spki in files
    assert key.sealed is not None
    assert key.sealed in files
    assert private[-32:] not in files
    assert private[-32:].hex().encode() not in files


def test_repr_of_a_new_key_hides_the_private_key() -> None:
    pair = signing.generate(Algorithm.ED25519)

    assert "private" not in repr(NewKey("k", Algorithm.ED25519, pair.public_key(), pair))


def test_an_unknown_issuer_has_no_key_set(keysmith: Smith) -> None:
    with pytest.raises(NotFound):
        keysmith[0].issuers.jwks(uuid4())
