"""Public keys from untrusted parties: weak, malformed and non-canonical ones are rejected."""

from __future__ import annotations

from base64 import b64encode, encodebytes
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import FieldError, ValidationFailed

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P

ED25519_SPKI = bytes.fromhex("302a300506032b6570032100")
P256_SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
# A P-256 key whose parameters are spelled out, as `openssl ecparam -param_enc explicit` makes it.
P256_EXPLICIT_SPKI = bytes.fromhex(
    "3082014b3082010306072a8648ce3d02013081f7020101302c06072a8648ce3d0101022100ffffffff00000001000000000000000000000000"
    "ffffffffffffffffffffffff305b0420ffffffff00000001000000000000000000000000fffffffffffffffffffffffc04205ac635d8aa3a93"
    "e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b031500c49d360886e704936a6678e1139d26b7819f7e900441046b17d1f2e12c"
    "4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51"
    "f5022100ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc6325510201010342000492244326ec3001a70bc36a1434a9"
    "8bbd81e35a333a8da907ab18027c6cd5701c955114294eeb691b9819b5a320795792edc035418ca811fc6c5e36e94b937bc5"
)
SECP256K1_SPKI = bytes.fromhex(
    "3056301006072a8648ce3d020106052b8104000a03420004b6310a1c8d91390604911c76c8b3c0f6c424a578e56f402f1582b0963aea208643"
    "7848aac76c15c6b305bc4fa4d4e45e7c29131e3b0d8830497f0acf947078ac"
)

Point = tuple[int, int]


def is_refused(alg: Algorithm, key: bytes) -> bool:
    """Whether the key is refused, with the field it came in."""
    faults: tuple[FieldError, ...] = ()
    try:
        signing.load_public(alg, key, field="/public_key_b64url")
    except ValidationFailed as refused:
        faults = refused.fields
    assert [(fault.field, fault.code) for fault in faults] in ([], [("/public_key_b64url", "public_key")])
    return bool(faults)


def recover_x(y: int) -> int | None:
    """An x for y on edwards25519, by the square root of RFC 8032 section 5.1.3."""
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    for candidate in (x, x * pow(2, (P - 1) // 4, P) % P):
        if v * candidate * candidate % P == u:
            return candidate
    return None


def add(a: Point, b: Point) -> Point:
    (x1, y1), (x2, y2) = a, b
    k = D * x1 * x2 * y1 * y2 % P
    return (x1 * y2 + x2 * y1) * pow(1 + k, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - k, -1, P) % P


def times(scalar: int, point: Point) -> Point:
    product = (0, 1)
    for bit in bin(scalar)[2:]:
        product = add(product, product)
        product = add(product, point) if bit == "1" else product
    return product


@cache
def small_order_points() -> frozenset[Point]:
    """The eight points whose order divides eight, found by clearing the large factor of others."""
    points = ((x, y) for y in range(2, 80) if (x := recover_x(y)) is not None)
    return frozenset(times(L, point) for point in points)


def encodings(y: int) -> list[bytes]:
    """Every 32 bytes that a lenient reader takes for this y: either sign, and y + p where it fits."""
    spellings = [y, y + P] if y + P < 2**255 else [y]
    return [(spelling | sign << 255).to_bytes(32, "little") for spelling in spellings for sign in (0, 1)]


def test_every_ed25519_point_of_small_order_is_refused_in_every_encoding():
    points = small_order_points()
    spelled = {encoding for _, y in points for encoding in encodings(y)}

    assert len(points) == 8
    assert all(times(8, point) == (0, 1) for point in points)
    assert len(spelled) == 14
    assert all(is_refused(Algorithm.ED25519, raw) for raw in spelled)
    assert all(is_refused(Algorithm.ED25519, ED25519_SPKI + raw) for raw in spelled)


def test_every_ed25519_encoding_with_y_beyond_the_field_is_refused():
    beyond = [raw for excess in range(19) for raw in encodings(excess) if int.from_bytes(raw, "little") % 2**255 >= P]

    assert len(beyond) == 38
    assert all(is_refused(Algorithm.ED25519, raw) for raw in beyond)


@settings(deadline=None)
@given(st.integers(0, P - 1), st.integers(0, 1))
def test_an_ed25519_key_is_accepted_exactly_where_its_point_is_on_the_curve(y, sign):
    raw = (y | sign << 255).to_bytes(32, "little")
    on_the_curve = recover_x(y) is not None and not any(y == small for _, small in small_order_points())

    assert is_refused(Algorithm.ED25519, raw) is not on_the_curve


def test_an_ed25519_key_is_the_same_raw_and_as_spki():
    public = signing.generate(Algorithm.ED25519).public_key()
    spki = signing.spki(public)

    assert spki[:12] == ED25519_SPKI
    assert signing.load_public(Algorithm.ED25519, spki[12:]) == signing.load_public(Algorithm.ED25519, spki) == public


@pytest.mark.parametrize("length", [0, 1, 31, 33, 43, 45, 64])
def test_an_ed25519_key_of_another_length_is_refused(length):
    assert is_refused(Algorithm.ED25519, b"\x20" * length)


@pytest.mark.parametrize("alg", [alg for alg in Algorithm if alg is not Algorithm.ED25519])
def test_raw_bytes_are_a_key_for_ed25519_only(alg):
    assert is_refused(alg, signing.spki(signing.generate(Algorithm.ED25519).public_key())[12:])


@pytest.mark.parametrize("alg", [Algorithm.ED25519, Algorithm.ES256, Algorithm.ES512, Algorithm.RS256])
def test_bytes_around_the_der_are_refused(alg):
    spki = signing.spki(signing.generate(alg).public_key())

    assert not is_refused(alg, spki)
    for around in (spki + b"\0", spki + spki, b"\0" + spki, spki[:-1], spki[1:]):
        assert is_refused(alg, around)


@pytest.mark.parametrize("alg", [Algorithm.ES256, Algorithm.ES384, Algorithm.ES512])
def test_an_ec_point_off_its_curve_is_refused(alg):
    spki = signing.spki(signing.generate(alg).public_key())

    assert is_refused(alg, spki[:-1] + bytes([spki[-1] ^ 1]))


@pytest.mark.parametrize(
    "point",
    [b"\0", b"\0" * 65, b"\x04" + b"\0" * 64, b"\x04" + b"\xff" * 64, b"\x04" + b"\x01" * 63, b""],
    ids=["infinity", "zeros", "origin", "beyond the field", "short", "empty"],
)
def test_malformed_ec_point_is_rejected(point):
    bits = b"\0" + point
    body = P256_SPKI[2:23] + b"\x03" + bytes([len(bits)]) + bits

    assert is_refused(Algorithm.ES256, b"\x30" + bytes([len(body)]) + body)


@pytest.mark.parametrize("lead", [0x02, 0x03, 0x06, 0x07], ids=["even", "odd", "hybrid even", "hybrid odd"])
def test_compressed_and_hybrid_points_are_rejected(lead):
    public = signing.generate(Algorithm.ES256).public_key()
    assert isinstance(public, ec.EllipticCurvePublicKey)
    point = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    bits = b"\0" + bytes([lead]) + (point[1:] if lead > 3 else point[1:33])
    body = P256_SPKI[2:23] + b"\x03" + bytes([len(bits)]) + bits

    assert is_refused(Algorithm.ES256, b"\x30" + bytes([len(body)]) + body)


def test_explicit_curve_parameters_are_rejected():
    assert is_refused(Algorithm.ES256, P256_EXPLICIT_SPKI)
    assert not is_refused(Algorithm.ES256, P256_SPKI + b"\x04" + P256_EXPLICIT_SPKI[-64:])


def test_unsupported_curve_is_rejected():
    assert all(is_refused(alg, SECP256K1_SPKI) for alg in Algorithm)


def rsa_spki(n: int, e: int) -> bytes:
    return signing.spki(rsa.RSAPublicNumbers(e, n).public_key())


@pytest.mark.parametrize(
    ("bits", "accepted"), [(1024, False), (2047, False), (2048, True), (8192, True), (8193, False), (16384, False)]
)
def test_an_rsa_modulus_has_2048_to_8192_bits(bits, accepted):
    assert is_refused(Algorithm.PS256, rsa_spki(2 ** (bits - 1) + 1, 65537)) is not accepted


@pytest.mark.parametrize(
    ("exponent", "accepted"),
    [(3, False), (17, False), (65535, False), (65537, True), (2**64 - 1, True), (2**64 + 1, False)],
)
def test_an_rsa_exponent_is_at_least_65537_and_below_2_to_the_64(exponent, accepted):
    assert is_refused(Algorithm.RS256, rsa_spki(2**2047 + 1, exponent)) is not accepted


@pytest.mark.parametrize(
    ("exponent", "accepted"), [(65537, True), (2**31 - 1, True), (2**31 + 1, False), (2**64 - 1, False)]
)
def test_a_new_rsa_key_has_an_exponent_that_every_verifier_reads(exponent, accepted):
    spki = rsa_spki(2**2047 + 1, exponent)
    signing.load_public(Algorithm.RS256, spki)  # one that was registered before still verifies

    if accepted:
        signing.load_new_public(Algorithm.RS256, spki)
        return
    with pytest.raises(ValidationFailed, match=r"public exponent has .* bits.*Generate a key with the exponent 65537"):
        signing.load_new_public(Algorithm.RS256, spki)


@pytest.mark.parametrize(("exponent", "shown"), [(3, "is 3;"), (2**64 + 1, "is a number of 65 bits;")])
@pytest.mark.parametrize("load", [signing.load_public, signing.load_new_public])
def test_a_refused_rsa_exponent_is_named_with_both_limits(load, exponent, shown):
    limits = r"at least 65537 and below 2\^64, and that of a new key below 2\^31"
    with pytest.raises(ValidationFailed, match=f"the RSA public exponent {shown} it must be odd, {limits}"):
        load(Algorithm.RS256, rsa_spki(2**2047 + 1, exponent))


def der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = bytes([len(body)]) if len(body) < 128 else b"\x82" + len(body).to_bytes(2, "big")
    return bytes([tag]) + size + body


def rsa_spki_by_hand(n: int, e: int, *, algorithm: bytes) -> bytes:
    """An RSA SubjectPublicKeyInfo under any AlgorithmIdentifier, numbers the library would not write included."""
    numbers = (der(2, number.to_bytes(number.bit_length() // 8 + 1, "big")) for number in (n, e))
    return der(0x30, der(0x30, algorithm), der(3, b"\0", der(0x30, *numbers)))


RSA_ENCRYPTION = bytes.fromhex("06092a864886f70d010101")
RSASSA_PSS = bytes.fromhex("06092a864886f70d01010a")
NULL = b"\x05\x00"


@pytest.mark.parametrize(
    ("n", "e", "algorithm"),
    [
        (2**2047 + 1, 65537, RSA_ENCRYPTION),
        (2**2047 + 1, 65537, RSASSA_PSS),
        (2**2047 + 1, 65537, RSASSA_PSS + NULL),
        (2**2047, 65537, RSA_ENCRYPTION + NULL),
        (2**2047 + 1, 65538, RSA_ENCRYPTION + NULL),
        (2**2047 + 1, 1, RSA_ENCRYPTION + NULL),
        (2**2047 + 1, 0, RSA_ENCRYPTION + NULL),
    ],
    ids=["no NULL", "PSS key", "PSS key with NULL", "even modulus", "even exponent", "exponent one", "exponent zero"],
)
@pytest.mark.parametrize("alg", [Algorithm.RS256, Algorithm.PS256])
def test_malformed_rsa_key_is_rejected(alg, n, e, algorithm):
    assert rsa_spki_by_hand(2**2047 + 1, 65537, algorithm=RSA_ENCRYPTION + NULL) == rsa_spki(2**2047 + 1, 65537)
    assert is_refused(alg, rsa_spki_by_hand(n, e, algorithm=algorithm))


@cache
def sound_spkis() -> list[bytes]:
    algorithms = (Algorithm.ED25519, Algorithm.ES256, Algorithm.ES384, Algorithm.ES512, Algorithm.RS256)
    return [signing.spki(signing.generate(alg).public_key()) for alg in algorithms]


@settings(deadline=None)
@given(st.data(), st.sampled_from(Algorithm))
def test_any_bytes_are_a_canonical_key_or_rejected(data, alg):
    raw = bytearray(data.draw(st.binary(max_size=120) | st.sampled_from(sound_spkis())))
    for _ in range(data.draw(st.integers(0, 3)) if raw else 0):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))

    if not is_refused(alg, bytes(raw)):
        key = signing.load_public(alg, bytes(raw))
        assert bytes(raw) in {signing.spki(key), signing.spki(key)[12:]}
        assert load_der_public_key(signing.spki(key)) == key


def test_rejection_names_the_problem_of_the_key():
    with pytest.raises(ValidationFailed, match=r"^The key is rejected: the Ed25519 point is of small order, .*\.$"):
        signing.load_public(Algorithm.ED25519, bytes(32))


PRIVATE_FORMS = {
    "PKCS #8": (Encoding.DER, PrivateFormat.PKCS8),
    "PKCS #1 or SEC 1": (Encoding.DER, PrivateFormat.TraditionalOpenSSL),
    "PKCS #8 PEM": (Encoding.PEM, PrivateFormat.PKCS8),
    "PKCS #1 or SEC 1 PEM": (Encoding.PEM, PrivateFormat.TraditionalOpenSSL),
    "OpenSSH PEM": (Encoding.PEM, PrivateFormat.OpenSSH),
}


@cache
def private_keys() -> list[signing.PrivateKey]:
    return [signing.generate(alg) for alg in (Algorithm.ED25519, Algorithm.ES256, Algorithm.ES512, Algorithm.RS256)]


def assert_refused_as_private(refuse: Callable[[], object]) -> None:
    with pytest.raises(ValidationFailed) as refused:
        refuse()
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/key", "private_key")]
    assert refused.value.message == signing.PRIVATE


def exports() -> Iterator[tuple[str, bytes]]:
    """Every private key in every form that its library writes, encrypted or not."""
    for form, (encoding, layout) in PRIVATE_FORMS.items():
        for encryption in (NoEncryption(), BestAvailableEncryption(b"secret")):
            for key in private_keys():
                with suppress(ValueError, UnsupportedAlgorithm):  # not every kind has every form
                    yield form, key.private_bytes(encoding, layout, encryption)


def test_private_key_is_recognized_in_every_form():
    seen = Counter()
    for form, exported in exports():
        seen[form] += 1
        pasted = {b64url_encode(exported), b64encode(exported).decode(), encodebytes(exported).decode()}
        if form.endswith("PEM"):
            pasted.add(exported.decode())
        for text in pasted:
            assert_refused_as_private(partial(signing.reject_private, text, field="/key"))
        for alg in Algorithm:
            assert_refused_as_private(partial(signing.load_public, alg, exported, field="/key"))

    assert seen == {"PKCS #8": 8, "PKCS #1 or SEC 1": 3, "PKCS #8 PEM": 8, "PKCS #1 or SEC 1 PEM": 6, "OpenSSH PEM": 4}


def test_public_keys_are_not_mistaken_for_private_keys():
    for key in private_keys():
        public = key.public_key()
        for exported in (
            signing.spki(public),
            public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            *([public.public_bytes(Encoding.DER, PublicFormat.PKCS1)] if isinstance(public, rsa.RSAPublicKey) else []),
        ):
            assert not signing.is_private(exported)
            signing.reject_private(b64url_encode(exported))
    assert not signing.is_private(b"\x30\x1e\x02\x01\x00" + bytes(27))  # 32 bytes: a raw Ed25519 key
