"""The ten signature algorithms, tested with the Wycheproof vectors before our own round trips."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_der_public_key
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from support.vectors import SignatureCase, wycheproof

WYCHEPROOF = {
    Algorithm.ED25519: "ed25519_test.json",
    Algorithm.ES256: "ecdsa_secp256r1_sha256_p1363_test.json",
    Algorithm.ES384: "ecdsa_secp384r1_sha384_p1363_test.json",
    Algorithm.ES512: "ecdsa_secp521r1_sha512_p1363_test.json",
    Algorithm.RS256: "rsa_signature_2048_sha256_test.json",
    Algorithm.RS384: "rsa_signature_3072_sha384_test.json",
    Algorithm.RS512: "rsa_signature_4096_sha512_test.json",
    Algorithm.PS256: "rsa_pss_2048_sha256_mgf1_32_test.json",
    Algorithm.PS384: "rsa_pss_2048_sha384_mgf1_48_test.json",
    Algorithm.PS512: "rsa_pss_4096_sha512_mgf1_64_test.json",
}
KINDS = {"EdDSA": "OKP Ed25519", "ES256": "EC P-256", "ES384": "EC P-384", "ES512": "EC P-521"}  # the rest are RSA


def private(alg: Algorithm, *, number: int = 1) -> PrivateKey:
    """A key pair of the algorithm's kind; the six algorithms of RSA share theirs."""
    return key_of_kind(kind(alg), number)


@cache
def key_of_kind(kind_of_key: str, number: int) -> PrivateKey:
    return signing.generate(next(alg for alg in Algorithm if kind(alg) == kind_of_key))


def kind(alg: Algorithm) -> str:
    return KINDS.get(alg.jose, "RSA")


ONE_OF_EACH_KIND = [Algorithm.ED25519, Algorithm.ES256, Algorithm.ES384, Algorithm.ES512, Algorithm.RS256]


def holds(alg: Algorithm, public: PublicKey, signature: bytes, message: bytes) -> bool:
    try:
        signing.verify(alg, public, signature, message)
    except SignatureInvalid:
        return False
    return True


def public_of(alg: Algorithm, case: SignatureCase) -> PublicKey:
    """The key of a case; its two with a tiny RSA exponent test signatures that we accept under keys that we do not."""
    key = load_der_public_key(case.public)
    if isinstance(key, rsa.RSAPublicKey) and key.public_numbers().e < 65537:
        with pytest.raises(ValidationFailed, match="exponent"):
            signing.load_public(alg, case.public)
        return key
    return signing.load_public(alg, case.public)


@pytest.mark.parametrize("alg", Algorithm)
def test_wycheproof_signatures_are_verified_correctly(alg):
    """
    The one `acceptable` case of each PKCS #1 file leaves the NULL out of the DigestInfo; it is refused.
    """
    cases = wycheproof(WYCHEPROOF[alg])

    misjudged = [
        case.id
        for case in cases
        if holds(alg, public_of(alg, case), case.signature, case.message) is not (case.result == "valid")
    ]
    assert misjudged == []
    assert {"valid", "invalid"} <= {case.result for case in cases}
    assert [case.flags for case in cases if case.result == "acceptable"] in ([], [("MissingNull",)])


@pytest.mark.parametrize("alg", Algorithm)
def test_wycheproof_keys_are_serialized_as_jwk_and_spki(alg):
    with_jwk = [case for case in wycheproof(WYCHEPROOF[alg]) if case.jwk]

    for case in with_jwk:
        key = public_of(alg, case)
        ours = signing.jwk(alg, key, "k1")
        assert {name: case.jwk[name] for name in ("kty", "crv", "x", "y", "n", "e") if name in case.jwk} == {
            name: value for name, value in ours.items() if name not in {"kid", "alg", "use"}
        }
        assert signing.spki(key) == case.public
    assert with_jwk


def test_the_first_test_vector_of_rfc_8032_is_signed_as_printed():
    """
    RFC 8032 section 7.1, TEST 2; the PKCS #8 frame is that of RFC 8410 section 7.
    """
    seed = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    key = signing.load_private(Algorithm.ED25519, bytes.fromhex("302e020100300506032b657004220420") + seed)

    assert signing.sign(Algorithm.ED25519, key, b"\x72").hex() == (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )


def test_ten_algorithms_have_their_jose_names():
    assert {alg.value: alg.jose for alg in Algorithm} == {"Ed25519": "EdDSA"} | {
        family + bits: family + bits for family in ("ES", "RS", "PS") for bits in ("256", "384", "512")
    }


@pytest.mark.parametrize("alg", Algorithm)
def test_signature_is_valid_for_its_own_key_and_message_only(alg):
    signature = signing.sign(alg, private(alg), b"message")

    assert holds(alg, private(alg).public_key(), signature, b"message")
    assert not holds(alg, private(alg).public_key(), signature, b"messagf")
    assert not holds(alg, private(alg).public_key(), signature, b"")
    assert not holds(alg, private(alg, number=2).public_key(), signature, b"message")


@pytest.mark.parametrize(
    ("alg", "length"),
    [(Algorithm.ED25519, 64), (Algorithm.ES256, 64), (Algorithm.ES384, 96), (Algorithm.ES512, 132),
     (Algorithm.RS256, 384), (Algorithm.PS512, 384)],
)  # fmt: skip
def test_a_signature_has_the_one_length_of_its_jose_form(alg, length):
    public = private(alg).public_key()
    signature = signing.sign(alg, private(alg), b"message")

    assert len(signature) == length
    halves = signature[: length // 2], signature[length // 2 :]
    for other in (b"", signature[:-1], signature + b"\0", b"\0" + signature, halves[0], b"\0".join(halves)):
        assert not holds(alg, public, other, b"message")


@settings(deadline=None)
@given(st.data())
@pytest.mark.parametrize("alg", Algorithm)
def test_no_single_bit_of_a_signature_may_change(alg, data):
    signature = bytearray(signing.sign(alg, private(alg), b"message"))
    bit = data.draw(st.integers(0, len(signature) * 8 - 1))
    signature[bit // 8] ^= 1 << bit % 8

    assert not holds(alg, private(alg).public_key(), bytes(signature), b"message")


def test_an_ecdsa_signature_in_der_is_refused():
    signature = signing.sign(Algorithm.ES256, private(Algorithm.ES256), b"message")
    der = encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))

    assert not holds(Algorithm.ES256, private(Algorithm.ES256).public_key(), der, b"message")


@pytest.mark.parametrize("alg", [Algorithm.ES256, Algorithm.ES384, Algorithm.ES512])
@pytest.mark.parametrize("half", [b"\0", b"\xff"])
def test_an_ecdsa_signature_of_zeros_or_out_of_range_is_refused(alg, half):
    width = len(signing.sign(alg, private(alg), b"")) // 2

    assert not holds(alg, private(alg).public_key(), half * 2 * width, b"message")


@pytest.mark.parametrize(("alg", "digest"), [(Algorithm.PS256, hashes.SHA256()), (Algorithm.PS512, hashes.SHA512())])
@pytest.mark.parametrize("salt", [0, 20, 33])
def test_a_pss_salt_is_exactly_as_long_as_the_hash(alg, digest, salt):
    key = private(alg)
    assert isinstance(key, rsa.RSAPrivateKey)
    signature = key.sign(b"message", padding.PSS(padding.MGF1(digest), salt), digest)

    assert not holds(alg, key.public_key(), signature, b"message")


@pytest.mark.parametrize(("alg", "other"), list(permutations(Algorithm, 2)))
def test_signature_is_invalid_under_another_algorithm(alg, other):
    key = private(other)

    assert not holds(alg, key.public_key(), signing.sign(other, key, b"message"), b"message")


@pytest.mark.parametrize("alg", Algorithm)
@pytest.mark.parametrize("other", ONE_OF_EACH_KIND)
def test_key_signs_only_with_algorithms_of_its_kind(alg, other):
    key = private(other)
    pkcs8, spki = signing.dump_private(key), signing.spki(key.public_key())

    if kind(alg) == kind(other):
        assert signing.load_public(alg, spki) == key.public_key()
        assert signing.spki(signing.load_private(alg, pkcs8).public_key()) == spki
        return
    with pytest.raises(ValidationFailed, match=f"{alg} takes an"):
        signing.load_public(alg, spki)
    with pytest.raises(ValidationFailed, match=f"{alg} takes an"):
        signing.load_private(alg, pkcs8)
    with pytest.raises(TypeError, match=f"{alg} signs with an"):
        signing.sign(alg, key, b"message")


@pytest.mark.parametrize("alg", [alg for alg in Algorithm if kind(alg) == "RSA"])
def test_rsa_key_is_generated_with_3072_bits_and_exponent_65537(alg, monkeypatch):
    monkeypatch.setattr(rsa, "generate_private_key", lambda e, bits: (e, bits))

    assert signing.generate(alg) == (65537, 3072)


def test_generated_rsa_key_has_3072_bits_and_exponent_65537():
    key = private(Algorithm.RS256)

    assert isinstance(key, rsa.RSAPrivateKey)
    assert (key.key_size, key.public_key().public_numbers().e) == (3072, 65537)


@pytest.mark.parametrize("pkcs8", [b"", b"0", b"\x30\x80", b"-----BEGIN PRIVATE KEY-----"])
def test_malformed_private_key_is_rejected(pkcs8):
    with pytest.raises(ValidationFailed, match="PKCS #8"):
        signing.load_private(Algorithm.ED25519, pkcs8)


@pytest.mark.parametrize("alg", [alg for alg in Algorithm if alg.startswith("ES")])
def test_the_coordinates_of_a_jwk_keep_their_leading_zeros(alg):
    """
    RFC 7518 section 6.2.1.2: the octet string is as long as the curve's field, whatever the number.
    """
    curve = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}[kind(alg).removeprefix("EC ")]
    keys = (ec.derive_private_key(secret, curve).public_key() for secret in range(1, 2000))
    width = (curve.key_size + 7) // 8
    narrow = next(key for key in keys if key.public_numbers().x >> (curve.key_size // 8 * 8 - 8) == 0)

    assert len(signing.jwk(alg, narrow, "k")["x"]) == -(-width * 4 // 3)


def test_jwk_has_kid_alg_and_use():
    jwk = signing.jwk(Algorithm.ED25519, private(Algorithm.ED25519).public_key(), "2026/a")

    assert {name: jwk[name] for name in ("kid", "alg", "use")} == {"kid": "2026/a", "alg": "EdDSA", "use": "sig"}
