"""Our tokens are standard compact JWS, and a token verifies for its own purpose only.

Outside judges: the test vector of RFC 8037, joserfc, jwcrypto and the `openssl` command line.
"""

from __future__ import annotations

import hmac
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import jwcrypto.jwk
import jwcrypto.jws
import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jwk as joserfc_jwk
from joserfc import jws as joserfc_jws

from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.signing import Algorithm, PrivateKey
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import SignatureInvalid

KID = "key/2026 ü"
PAYLOAD = b'{"id":"0193b5a0-7f3c-7abc-8def-0123456789ab","v":1}'


@cache
def private(alg: Algorithm) -> PrivateKey:
    """One key pair for each algorithm and test run."""
    return signing.generate(alg)


def verify(alg: Algorithm, token: str, *, kid: str = KID, payload: bytes = PAYLOAD) -> None:
    jws.verify_compact(alg, private(alg).public_key(), token, kid=kid, payload=payload)


def is_refused(alg: Algorithm, token: str) -> bool:
    try:
        verify(alg, token)
    except SignatureInvalid:
        return True
    return False


def token_of(alg: Algorithm) -> str:
    return jws.sign_compact(alg, private(alg), KID, PAYLOAD)


def resigned(alg: Algorithm, header: dict[str, object] | str, payload: bytes = PAYLOAD) -> str:
    """A token with any header, rightly signed: only the header's bytes can give it away."""
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    signed = jws.signing_input(b64url_encode(text.encode()), payload)
    return f"{signed.decode()}.{b64url_encode(signing.sign(alg, private(alg), signed))}"


def private_jwk(alg: Algorithm) -> jwcrypto.jwk.JWK:
    pem = private(alg).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return jwcrypto.jwk.JWK.from_pem(pem)


def test_rfc_8037_example_verifies():
    """
    Appendix A.4: its header has no `kid`, so the parts below `verify_compact` are judged.
    """
    public = signing.load_public(Algorithm.ED25519, b64url_decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
    signed = jws.signing_input("eyJhbGciOiJFZERTQSJ9", b"Example of Ed25519 signing")
    signature = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

    assert signed == b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    signing.verify(Algorithm.ED25519, public, b64url_decode(signature), signed)


# RFC 9864 renames EdDSA on Curve25519 to Ed25519; we keep the older name, which every library reads.
the_older_name = pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")


@the_older_name
@pytest.mark.parametrize("alg", Algorithm)
def test_joserfc_verifies_our_tokens(alg):
    key = joserfc_jwk.import_key(signing.jwk(alg, private(alg).public_key(), KID))

    judged = joserfc_jws.deserialize_compact(token_of(alg), key, algorithms=[alg.jose])

    assert judged.payload == PAYLOAD
    assert judged.protected == {"alg": alg.jose, "kid": KID}


@pytest.mark.parametrize("alg", Algorithm)
def test_jwcrypto_verifies_our_tokens(alg):
    judged = jwcrypto.jws.JWS()
    judged.allowed_algs = [alg.jose]
    judged.deserialize(token_of(alg))

    judged.verify(jwcrypto.jwk.JWK(**signing.jwk(alg, private(alg).public_key(), KID)))

    assert judged.payload == PAYLOAD
    assert judged.jose_header == {"alg": alg.jose, "kid": KID}


@the_older_name
@pytest.mark.parametrize("alg", Algorithm)
def test_we_verify_the_tokens_of_joserfc(alg):
    key = joserfc_jwk.import_key(private_jwk(alg).export(as_dict=True))
    header = {"alg": alg.jose, "kid": "ascii"}

    verify(alg, joserfc_jws.serialize_compact(header, PAYLOAD, key, algorithms=[alg.jose]), kid="ascii")


@pytest.mark.parametrize("alg", Algorithm)
def test_we_verify_the_tokens_of_jwcrypto(alg):
    theirs = jwcrypto.jws.JWS(PAYLOAD)
    theirs.allowed_algs = [alg.jose]
    theirs.add_signature(private_jwk(alg), protected=b64url_decode(jws.protected_header(alg, KID)).decode())

    verify(alg, theirs.serialize(compact=True))


@pytest.mark.parametrize(
    ("alg", "command"),
    [
        (Algorithm.ED25519, "pkeyutl -verify -rawin -pubin -keyform DER -inkey key -in message -sigfile signature"),
        (Algorithm.ES256, "dgst -sha256 -keyform DER -verify key -signature signature message"),
        (Algorithm.RS256, "dgst -sha256 -keyform DER -verify key -signature signature message"),
    ],
)
def test_the_openssl_command_line_verifies_our_signatures(alg, command, tmp_path: Path):
    openssl = shutil.which("openssl") or pytest.skip("no openssl command line to judge the signature")
    signed, _, signature = token_of(alg).rpartition(".")
    raw = b64url_decode(signature)
    if alg is Algorithm.ES256:  # openssl reads ECDSA signatures as DER
        raw = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    (tmp_path / "key").write_bytes(signing.spki(private(alg).public_key()))
    (tmp_path / "signature").write_bytes(raw)

    def verdict(message: str) -> int:
        (tmp_path / "message").write_text(message)
        return subprocess.run([openssl, *command.split()], cwd=tmp_path, capture_output=True, check=False).returncode

    assert verdict(signed) == 0
    assert verdict(signed + "A") != 0


@pytest.mark.parametrize("alg", Algorithm)
def test_a_token_is_header_payload_and_signature_without_padding(alg):
    header, payload, signature = token_of(alg).split(".")

    assert b64url_decode(header) == f'{{"alg":"{alg.jose}","kid":"{KID}"}}'.encode()
    assert header == jws.protected_header(alg, KID)
    assert b64url_decode(payload) == PAYLOAD
    assert "=" not in header + payload + signature


@settings(deadline=None)
@given(st.binary(max_size=300), st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_payload_under_any_kid_is_signed_and_verified(payload, kid):
    alg = Algorithm.ED25519

    token = jws.sign_compact(alg, private(alg), kid, payload)

    verify(alg, token, kid=kid, payload=payload)
    header, signed, _ = token.split(".")
    assert json.loads(b64url_decode(header))["kid"] == kid
    assert b64url_decode(signed) == payload
    with pytest.raises(SignatureInvalid):
        verify(alg, token, kid=kid, payload=payload + b"x")
    with pytest.raises(SignatureInvalid):
        verify(alg, token, kid=f"{kid}x", payload=payload)


@pytest.mark.parametrize("alg", Algorithm)
def test_token_is_valid_for_its_own_kid_and_payload_only(alg):
    token = token_of(alg)

    verify(alg, token)
    with pytest.raises(SignatureInvalid, match="header"):
        verify(alg, token, kid="another")
    with pytest.raises(SignatureInvalid, match="payload"):
        verify(alg, token, payload=PAYLOAD + b" ")
    with pytest.raises(SignatureInvalid, match="does not belong"):
        verify(alg, token[:-10] + ("A" * 10 if token[-10:] != "A" * 10 else "B" * 10))


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none", "kid": KID},
        {"alg": "HS256", "kid": KID},
        {"alg": "ES256", "kid": KID},
        {"alg": "Ed25519", "kid": KID},
        {"alg": "eddsa", "kid": KID},
        {"alg": "EdDSA"},
        {"kid": KID, "alg": "EdDSA"},
        {"alg": "EdDSA", "kid": KID, "typ": "JWT"},
        {"alg": "EdDSA", "kid": KID, "b64": False, "crit": ["b64"]},
        {"alg": "EdDSA", "kid": KID, "jwk": {"kty": "OKP"}},
        '{"alg":"EdDSA", "kid":"' + KID + '"}',
        '{"alg":"EdDSA","kid":"key/2026 \\u00fc"}',
        '{"alg":"EdDSA","alg":"EdDSA","kid":"' + KID + '"}',
    ],
)
def test_other_header_is_rejected_even_if_correctly_signed(header):
    assert is_refused(Algorithm.ED25519, resigned(Algorithm.ED25519, header))


def test_an_unsigned_token_is_refused():
    signed = token_of(Algorithm.ED25519).rpartition(".")[0]

    for token in ("", ".", "..", "...", signed, signed + ".", f"{b64url_encode(b'{}')}.{b64url_encode(PAYLOAD)}."):
        assert is_refused(Algorithm.ED25519, token)


def test_noncanonical_encoding_of_a_valid_token_is_rejected():
    token = token_of(Algorithm.ED25519)
    header, payload, signature = token.split(".")
    final = "AQgw".find(signature[-1])  # 64 bytes leave four bits in the last character that must be zero
    loose = signature[:-1] + "BRhx"[final]

    assert not is_refused(Algorithm.ED25519, token)
    for second in (
        f"{header}.{payload}.{signature}==", f"{header}.{payload}.{loose}", f"{header}=.{payload}.{signature}",
        f"{header}.{payload}=.{signature}", f"{token}.", f"{token}\n", f" {token}", f"{token}.{signature}",
        f"{header}.{payload}.{signature[:40]} {signature[40:]}", f"{header}.{payload}.{signature}é",
    ):  # fmt: skip
        assert is_refused(Algorithm.ED25519, second)


def test_public_key_as_hmac_secret_is_rejected():
    """
    The classic confusion: RS256 verifiers that let the token say HS256 take the public key for the secret.
    """
    public = private(Algorithm.RS256).public_key()
    signed = jws.signing_input(b64url_encode(b'{"alg":"HS256","kid":"k"}'), PAYLOAD)
    token = f"{signed.decode()}.{b64url_encode(hmac.digest(signing.spki(public), signed, 'sha256'))}"

    with pytest.raises(SignatureInvalid, match="header"):
        jws.verify_compact(Algorithm.RS256, public, token, kid="k", payload=PAYLOAD)


@settings(deadline=None)
@given(st.data())
def test_no_character_of_a_token_may_change(data):
    token = token_of(Algorithm.ED25519)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters().filter(lambda character: character != token[place]))

    assert is_refused(Algorithm.ED25519, token[:place] + other + token[place + 1 :])


def test_joserfc_accepts_a_jwt_of_any_header() -> None:
    alg = Algorithm.ES256
    kid = signing.thumbprint(alg, private(alg).public_key())

    token = jws.sign_jwt({"kid": kid, "typ": "vc+jwt"}, {"b": 1, "a": "ü"}, alg=alg, private=private(alg))

    key = joserfc_jwk.import_key(signing.jwk(alg, private(alg).public_key(), kid))
    judged = joserfc_jws.deserialize_compact(token, key, algorithms=[alg.jose])
    assert judged.headers() == {"alg": alg.jose, "kid": kid, "typ": "vc+jwt"}
    assert judged.payload == '{"a":"ü","b":1}'.encode()
    assert key.thumbprint() == kid
    assert jws.split_compact(token) == (token.partition(".")[0], judged.payload)


@pytest.mark.parametrize("token", ["", "a", "a.b", "a.b.c.d", "a.=.c", "a.*.c"])
def test_a_token_that_is_not_compact_cannot_be_split(token: str) -> None:
    with pytest.raises(SignatureInvalid, match="JWS"):
        jws.split_compact(token)
