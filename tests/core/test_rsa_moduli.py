"""RSA moduli that published attacks factor are rejected. The weak keys were published by others."""

from __future__ import annotations

import math
import random
from base64 import b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_der_public_key

from attestlab.core.crypto import rsa_moduli, signing
from attestlab.core.crypto.rsa_moduli import find_weakness, require_unfactorable
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ValidationFailed
from support.processor_time import measure_least_s

# crocs-muni/roca, roca/tests/data/mod03.txt: made by an affected smart card.
ROCA_MOD03 = int(
    "9dcd7420e420c270a68060eb8b5aa7457a9f6648f86fafed2775cc1f79ae962f1e63f1b9e51c55f9ea6fdc7332e9b0058c9ff2eb1fc8985502"
    "9cf6aafe21e689feb38ac9ffb12f1ce371bb5d0e9aae64161abce74b4244bf68f1edb4411f756a097c8929c14740245ea355f8332d1aa36bb5"
    "0c7dcb4505da8de02e4e53d38f8df06097da7524df0df93db48eac8cc4af2d3a16257eb2b2adca6ba464e5974fa92550d31b1babf161e7692d"
    "00b86e3dd886ecab4abfbe1a8f8cc263ff4af55cdb45f4249a5193925f5e983d762f0b6800943eb0267b08f42ed311ce1f5c86eacbc8ce4d3c"
    "b7a2fee1ef5641423a1cf4114e5ecf50034a60a412523af9e6f4aa11",
    16,
)
# crocs-muni/roca, roca/tests/test_fingerprint.py: passes the older fingerprint by accident, and is not affected.
NOT_ROCA = 72414128973967872688332736535017614208620368242015797102796086827882754006260204061799547004983731426777596445658889886861027045033760014948048067467947960318205453778973975867532910489227970143091184725760290172935872752222320334100097730483600892686353719855397381316384244147860260153198611313067061116317  # fmt: skip  # noqa: E501
# badkeys/badkeys, tests/data/*.key, as PKCS #1 RSAPublicKey or SubjectPublicKeyInfo.
BADKEYS_ROCA = (
    "MIIBCgKCAQEAkTKtIR/MDftNrkgyashkwifks5Swm9HEkw4ZcCijyQdpTStInk9pdUrq4zjG6tk5xX9AaYXLu47fmiBVzClGvAXTZbpn6JbG1IERUs+i"
    "0pBRT5CzUu7vJ/63L72NzVvJFaT0SUE5zByhCjJE+pflMnX1e1UptOdnN5AHeY4RKkugVse3XO2xMs3yH3vTyZdtnaOIFRU0d6E7PrsgRtEAqFHcAGmP"
    "Uw0ZOW8A++8sS/FlnrxMf9lVa1/8k/A8otPfrNIipfAoq0MKJ+oxE2wML1DDxIGTGmNaN3gPANJyeuca7ptA+NGq5oU1x3pWMXgSvrVSXUooNk8xIkrK"
    "xSz3LQIDAQAB"
)
BADKEYS_PRIME = (
    "MIIBCgKCAQEAqQSg27883tGr5jtyOaZkEn597cuw1Wz4wWuFp1quvHOyiMId7L7mKHh2G+WQaEEBKl2A/M/tXgdfbrY0NnW3SMIZ9PMTWJNjtAqjBKVB"
    "DXDJbJhOpvyagL4HBKR6cnB0TE+3m0co6o98xRT7eFBP4V9WyZYIG15XDruFvGkgeqmXefqf5BB5Erquu6RePYNt25I3SFM12kZTW+HcrDyj34CO4Jxk"
    "w5JI5bUtP9wV5ocr/Z5FmvmIDi3eNbHBVteLN3BIuFax8JQvpcdwEjy7Qdro5Ad3a3Ld4//2Vn/mAkGPop/HmJmewI1poiKh+VgF87bloijO+izBYk/e"
    "o9ZWWQIDAQAB"
)
BADKEYS_FERMAT = (
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAkGbTtoSrOJmrwu9FV3A3xDfxNn3EnSO94M9+QIL3qJjjIMh30xrAdra5ZsXjhJrRApI0X+qA"
    "rvTQVv6/n9YqEoAPmF7n46yJ1TtYETFzGCjqk1sDZ8rVEnq4bxPHk0EQcFiQIn6iwTPOjeidD2WKUNIVeJWI/2X8Ms3ITdt+P4jV0DVeA6rdR31ClG+H"
    "Gos1OdTA+8nMwDId0jA/Kv8MOPFBLf24p9OB8fzXP2Uno0CSSrZLktJCouOcPzGgBB5sZZFHxpsrf76uJNULBrjC9Pbxx3ogpGVy1L5CC9v8qk3L44qQ"
    "pi4g/PC9wWNsK+NPr/tiq4+S3uB369Ye1n+0ywIDAQAB"
)
BADKEYS_SMALL_FACTOR = (
    "MIICIjANBgkqhkiG9w0BAQEFAAOCAg8AMIICCgKCAgEA0qEoL7v8sr9Z8RMSgj1LwGQbX4YirPGKSHFzko4/H/niYJL53cDE0mLBusUMfCT3QRM2QHW+"
    "As7WctShlVt9m6XcwkwBrxtuPxhC9HZn6gKm+pI90i9ekLL9L9gmbsiVO4xp84Lm5b8GGAZmpGFSZpRARs2h1gRXabg6gbD1PKTMHHsFzgpDwhVQnrTZ"
    "1QXGYjEk+394zdZOYF/pwaSglp8VOcaAKlwuJEfHwJ6o8WixvdwgwnmxUf3CLm+nKb6Qhu1IDYFIwA5sR5iIppJ9OkPgPUakygLZoa9v17zGOgZxhdol"
    "BEWXBZHRVDsgrBiiv8bqILfW9rV3qcN0Fd2eidp1KNW0LZ2vH5oPYtD96HojOWD/ra25Ax2LT8Fk5kctFsJkMUGIMtw1eCjiE+PQKYHMhybnI1Wk4VjG"
    "Im7y/dlL4fjeRvqFKeZAB12S1AnZFSXT36GG/967ItSaDuCPiMQndrm9oBug0sjyO6+CXX89rIEeN0wcyHZHuiJv7TOoiuIgk3r6UKKIsF57mk0YgtWN"
    "vUQpZU9Kkqhz0phwWNqAxdtevkz5kQ1erjrCwJzNa/9bldrzNdCsZljfmJhY0lfbAFDMFPBrZqkL4uepUiYqTb/gf5xf61WYkGNVSCF5v4FckL5+agmI"
    "gMhDvEt+S2BGDt9sz0zCnXtDidKnxycCAwEAAQ=="
)


def modulus_of(der_base64: str) -> int:
    key = load_der_public_key(b64decode(der_base64))
    assert isinstance(key, rsa.RSAPublicKey)
    return key.public_numbers().n


def primes_of(bits: int) -> tuple[int, int]:
    numbers = rsa.generate_private_key(65537, bits).private_numbers()
    return numbers.p, numbers.q


@pytest.mark.parametrize(
    ("modulus", "reason"),
    [
        (ROCA_MOD03, "ROCA"),
        (modulus_of(BADKEYS_ROCA), "ROCA"),
        (modulus_of(BADKEYS_FERMAT), "too close"),
        (modulus_of(BADKEYS_PRIME), "prime"),
        (modulus_of(BADKEYS_SMALL_FACTOR), "prime factor below 65536"),
        (3**1292, "prime factor below 65536"),
        (65539**129, "power of a prime"),
    ],
    ids=["ROCA card", "ROCA badkeys", "close primes", "prime", "small factor", "3^1292", "65539^129"],
)
def test_published_weak_moduli_are_detected(modulus, reason):
    assert modulus.bit_length() >= 2048
    assert reason in find_weakness(modulus)


@pytest.mark.parametrize("power", [2, 3, 5])
def test_power_of_a_large_prime_is_rejected(power):
    prime, _ = primes_of(1024 * max(2, 4 // power))

    assert find_weakness(prime**power)


def test_a_modulus_of_an_older_fingerprint_is_no_roca_modulus():
    assert find_weakness(NOT_ROCA) == ""


def test_fingerprint_order_is_that_of_65537_and_its_prime_powers():
    order, modulus = rsa_moduli._ROCA_ORDER, rsa_moduli._ROCA_MODULUS

    assert math.prod(rsa_moduli._ROCA_PRIME_POWERS) == order
    assert pow(65537, order, modulus) == 1
    for prime in (2, 3, 5, 7, 11, 13, 17, 23, 29, 37, 41, 53, 83):
        assert pow(65537, order // prime, modulus) != 1


def test_product_of_close_primes_is_rejected():
    prime, _ = primes_of(2048)
    neighbour = next(n for n in range(prime + 2, prime + 2**20, 2) if pow(2, n - 1, n) == 1)

    assert "too close" in find_weakness(prime * neighbour)


@pytest.mark.parametrize("bits", [2048, 3072])
def test_a_generated_key_is_sound(bits):
    key = rsa.generate_private_key(65537, bits).public_key()

    require_unfactorable(key)
    assert find_weakness(key.public_numbers().n) == ""


def test_a_key_of_another_kind_is_not_tested(monkeypatch):
    tested = []
    monkeypatch.setattr(rsa_moduli, "find_weakness", lambda modulus: tested.append(modulus) or "")
    for alg in (Algorithm.ED25519, Algorithm.ES256):
        require_unfactorable(signing.generate(alg).public_key())
    key = signing.generate(Algorithm.RS256).public_key()
    require_unfactorable(key)

    assert tested == [key.public_numbers().n]


def test_rejection_names_field_weakness_and_remedy():
    weak = rsa.RSAPublicNumbers(65537, modulus_of(BADKEYS_PRIME)).public_key()

    with pytest.raises(ValidationFailed, match=r"the RSA modulus is a prime .* Generate a new key pair\.$") as refused:
        require_unfactorable(weak, field="/public_key_b64url")
    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/public_key_b64url", "public_key")]


def test_weakness_check_is_faster_than_one_exponentiation_in_python():
    """One exponentiation in Python takes 0.2 s here, the tests 0.03 s; the ratio does not depend on the machine."""
    n = random.Random(14).getrandbits(4096) | 1 << 4095 | 1
    while math.gcd(n, math.factorial(2000)) != 1:
        n += 2
    find_weakness(2**64 + 13)  # the product of the small primes is computed once

    test = find_weakness.__wrapped__  # without its cache of earlier moduli

    tested_s, exponentiated_s = measure_least_s(lambda: test(n), lambda: pow(2, n - 1, n), rounds=3)

    assert tested_s < exponentiated_s / 2
