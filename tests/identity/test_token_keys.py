"""Signing keys of access tokens: published, verifiable by other libraries, and stored sealed."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from joserfc import jwt as joserfc_jwt
from joserfc.jwk import KeySet
from jwcrypto.jwk import JWKSet
from jwcrypto.jwt import JWT
from sqlalchemy import select, update

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_decode
from attestlab.identity import store
from attestlab.identity.tokens import AccessTokens
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.settings import Settings
from support.identity import AuthClient, bearer_header

# The contract names EdDSA, which RFC 9864 has since split in two; the judge says so each time.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated via RFC 9864")


def read_by_joserfc(token: str, jwks: str) -> dict[str, Any]:
    keys = KeySet.import_key_set(json.loads(jwks))
    return dict(joserfc_jwt.decode(token, keys, algorithms=["EdDSA", "ES256"]).claims)


def read_by_jwcrypto(token: str, jwks: str) -> dict[str, Any]:
    read = JWT(algs=["EdDSA", "ES256"], check_claims={"exp": None})
    read.leeway = 10**9  # the clock of this story is not the machine's
    read.deserialize(token, JWKSet.from_json(jwks))
    claims: dict[str, Any] = json.loads(read.claims)
    return claims


@pytest.mark.parametrize("alg", [Algorithm.ED25519, Algorithm.ES256])
@pytest.mark.parametrize("read", [read_by_joserfc, read_by_jwcrypto])
def test_published_keys_verify_a_token(
    auth_client: AuthClient, lab: Installation, alg: Algorithm, read: Callable[[str, str], dict[str, Any]]
) -> None:
    """The token has exactly the claims of the specification, plus the session and the token's own id."""
    with lab.storage.write() as tx:
        lab.identity.tokens.create_key(tx, at=lab.clock.now(), alg=alg)
    token = auth_client.signed_in()["access_token"]
    jwks = auth_client.client.get("/.well-known/jwks.json")

    claims = read(token, jwks.text)

    me = auth_client.me(token).json()
    assert claims.pop("sid") == me["credential"]["id"]
    assert claims.pop("jti")
    assert claims == {
        "sub": me["id"],
        "tenant_id": me["tenant_id"],
        "email": me["email"],
        "roles": ["owner"],
        "iat": int(lab.clock.now().timestamp()),
        "exp": int(lab.clock.now().timestamp()) + 3600,
        "iss": lab.log_id,
    }
    assert jwks.headers["Cache-Control"] == "public, max-age=300"


def test_the_header_names_the_algorithm_and_the_key_and_nothing_else(auth_client: AuthClient) -> None:
    token = auth_client.signed_in()["access_token"]
    (key,) = auth_client.client.get("/.well-known/jwks.json").json()["keys"]

    header = json.loads(b64url_decode(token.partition(".")[0]))

    assert header == {"alg": "EdDSA", "kid": key["kid"]}
    assert set(key) == {"kty", "crv", "x", "kid", "alg", "use"}


def test_a_newer_key_signs_and_the_older_still_verifies(
    auth_client: AuthClient, lab: Installation, clock: FixedClock
) -> None:
    """A process that starts later signs with the newer key; until then the older one signs, and both are published."""
    older = auth_client.signed_in()["access_token"]
    clock.advance(timedelta(seconds=1))
    fresh = AccessTokens(storage=lab.storage, keyring=lab.keyring, issuer=lambda: lab.log_id)
    claims = lab.identity.tokens.verify(older)
    with lab.storage.write() as tx:
        made = fresh.create_key(tx, at=clock.now())
        signed = fresh.sign(tx, claims, at=clock.now())

    first, _ = auth_client.client.get("/.well-known/jwks.json").json()["keys"]
    assert json.loads(b64url_decode(signed.partition(".")[0]))["kid"] == first["kid"] == made.kid
    assert [auth_client.me(token).status_code for token in (older, signed)] == [200, 200]


def test_a_key_of_a_transaction_that_failed_signs_nothing(lab: Installation, auth_client: AuthClient) -> None:
    """If it stayed in memory, tokens would be signed by a key that is not in the database."""
    recognised = lab.identity.authenticate(
        auth_client.tenant.owner_email, auth_client.tenant.owner_password, peer="192.0.2.1", now=lab.clock.now()
    )
    with pytest.raises(RuntimeError, match="changed its mind"), lab.storage.write() as tx:
        lab.identity.sign_in(recognised, tx=tx)
        raise RuntimeError("the caller changed its mind")

    assert auth_client.client.get("/.well-known/jwks.json").json() == {"keys": []}
    assert auth_client.me(auth_client.signed_in()["access_token"]).status_code == 200


def test_a_configured_issuer_is_enforced(lab: Installation, auth_client: AuthClient, clock: FixedClock) -> None:
    token = auth_client.signed_in()["access_token"]
    settings = Settings(
        data=lab.settings.data, database_url=lab.settings.database_url, token_issuer="https://id.example"
    )

    other = Installation.open(settings, clock=clock)
    tokens = other.identity.sign_in(
        other.identity.authenticate(
            auth_client.tenant.owner_email, auth_client.tenant.owner_password, peer="192.0.2.1", now=clock.now()
        )
    )

    assert other.identity.tokens.verify(tokens.access_token).iss == "https://id.example"
    assert [auth_client.me(each).status_code for each in (token, tokens.access_token)] == [200, 401]
    other.close()


@pytest.mark.tampered
def test_a_session_reopened_in_the_database_is_detected(lab: Installation, auth_client: AuthClient) -> None:
    tokens = auth_client.signed_in()
    auth_client.logout(tokens)
    with lab.storage.engine.begin() as connection:
        connection.execute(update(store.sessions).values(ended_at=None, ended_because=None))

    assert {(problem.kind, problem.message) for problem in fsck(lab)} >= {
        ("session", "the row differs from what was audited last")
    }


def test_no_token_is_stored_in_clear(lab: Installation, auth_client: AuthClient) -> None:
    tokens = auth_client.signed_in()
    auth_client.refresh(tokens["refresh_token"])

    with lab.storage.read() as connection:
        stored = [
            repr(tuple(row))
            for table in (store.sessions, store.refresh_tokens, store.token_keys)
            for row in connection.execute(select(*table.c))
        ]

    assert len(stored) == 4
    assert not [text for text in stored for token in tokens.values() if len(str(token)) > 20 and str(token) in text]
    assert auth_client.client.get("/v1/me", headers=bearer_header(tokens["access_token"])).status_code == 200
