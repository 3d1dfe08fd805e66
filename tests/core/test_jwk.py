"""JSON Web Keys: those of the RFCs and of another implementation are read; unsound ones are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwcrypto.jwk import JWK

from attestlab.core.crypto import signing
from attestlab.core.crypto.jwk import load_jwk
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import ValidationFailed

# RFC 8037, appendix A.2 and A.4; RFC 7515, appendix A.3.
ED25519 = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "alg": "EdDSA"}
P_256 = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "alg": "ES256",
}
SIGNED = [
    (
        ED25519,
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc."
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    ),
    (
        P_256,
        "eyJhbGciOiJFUzI1NiJ9."
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    ),
]


@pytest.mark.parametrize(("jwk", "token"), SIGNED, ids=["RFC 8037", "RFC 7515"])
def test_signatures_of_the_rfcs_are_verified(jwk: dict[str, str], token: str) -> None:
    signed, _, signature = token.rpartition(".")
    algorithm, public = load_jwk(jwk)

    signing.verify(algorithm, public, b64url_decode(signature), signed.encode())
    assert algorithm.jose == jwk["alg"]


@pytest.mark.parametrize("name", ["Ed25519", "ES256", "ES384", "ES512", "PS256"])
def test_a_key_of_another_implementation_is_the_same_key(name: str) -> None:
    algorithm = Algorithm(name)
    is_rsa = algorithm is Algorithm.PS256
    public = (rsa.generate_private_key(65537, 2048) if is_rsa else signing.generate(algorithm)).public_key()
    theirs = JWK.from_pem(pem_of(public))
    exported = {**json.loads(theirs.export_public()), "alg": algorithm.jose}

    assert load_jwk(exported) == (algorithm, public)
    assert load_jwk(signing.jwk(algorithm, public, "main")) == (algorithm, public)


def pem_of(public: Any) -> bytes:
    pem: bytes = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alg": "none"}, "The key's alg is 'none'"),
        ({"alg": None}, "The key's alg is 'None'"),
        ({"alg": "RS256"}, "RS256 takes an RSA key"),
        ({"alg": "ES384"}, "ES384 takes an EC P-384 key"),
        ({"kty": "oct"}, "does not have the members that its kty needs"),
        ({"x": None}, "does not have the members"),
        ({"x": "!"}, "does not have the members"),
        ({"crv": "P-192"}, "does not have the members"),
        ({"y": b64url_encode(b"\1" * 32)}, "does not have the members"),
        ({"kty": "RSA", "n": "AQAB", "e": "Aw", "alg": "RS256"}, "The key"),
    ],
    ids=str,
)
def test_an_unsound_key_is_refused(changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        load_jwk({**P_256, **changes})

    assert message in refused.value.message


def test_an_ed25519_point_of_small_order_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="small order"):
        load_jwk({**ED25519, "x": b64url_encode(bytes(32))})
