"""Detection of weak RSA moduli: public keys from which anyone can compute the private key.

Four tests, in order of cost; each finds keys that a published attack breaks in seconds:

- small factors: the greatest common divisor with the product of all primes below 2^16;
- ROCA (CVE-2017-15361): the fingerprint of Nemec, Sys, Svenda, Klinec and Matyas, "The Return of
  Coppersmith's Attack", CCS 2017, by the discrete logarithm, which has no false alarms;
- close primes (CVE-2022-26320): Fermat's method, as H. Boeck's `badkeys` applies it;
- primes and prime powers: Fermat's little theorem gives 2^(n-1) = 1 modulo p for every n = p^k, so
  the greatest common divisor of 2^(n-1) - 1 and n is a factor; for a sound key it is 1.

The package `badkeys` was considered: it accepts prime moduli and prime powers, and it depends on pyOpenSSL.
GMP does the arithmetic: one exponentiation of 4096 bits takes Python 0.2 s holding the interpreter
lock, and GMP 0.02 s without it. The offline verifier does not load this module.
"""

from __future__ import annotations

from functools import cache, lru_cache

import gmpy2
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from attestlab.core.crypto.signing import PublicKey
from attestlab.core.errors import ValidationFailed

MAX_SMALL_FACTOR = 2**16
FERMAT_ROUNDS = 100

# Infineon's library made primes k * M + (65537^a mod M), where M is the product of the first primes. The order of
# 65537 modulo the product of the primes up to 167 divides this number, whose prime powers are listed.
_ROCA_MODULUS = int(gmpy2.primorial(167))
_ROCA_GENERATOR = 65537
_ROCA_PRIME_POWERS = (16, 81, 25, 7, 11, 13, 17, 23, 29, 37, 41, 53, 83)
_ROCA_ORDER = 2454106387091158800


def require_unfactorable(key: PublicKey, *, field: str = "") -> None:
    """Reject an RSA key whose modulus a known attack factors; keys of other kinds pass.

    Raises:
        ValidationFailed: the modulus has a small factor, is prime, a power of a prime or a
            product of two close primes, or has the ROCA fingerprint.
    """
    if not isinstance(key, RSAPublicKey):
        return
    weakness = find_weakness(key.public_numbers().n)
    if weakness:
        message = f"The key is rejected: {weakness}, so anyone can compute its private key. Generate a new key pair."
        raise ValidationFailed.of(field, "public_key", message)


@lru_cache(maxsize=1024)
def find_weakness(modulus: int) -> str:
    """Describe the weakness of an odd RSA modulus; empty if no test finds one."""
    n = gmpy2.mpz(modulus)
    with gmpy2.context(allow_release_gil=True):
        if gmpy2.gcd(_small_primes(), n) != 1:
            return f"the RSA modulus has a prime factor below {MAX_SMALL_FACTOR}"
        if _has_roca_fingerprint(n):
            return "the RSA modulus has the ROCA fingerprint (CVE-2017-15361)"
        if _is_product_of_close_factors(n):
            return "the two factors of the RSA modulus are too close to each other"
        if gmpy2.gcd(gmpy2.powmod(2, n - 1, n) - 1, n) != 1:
            return "the RSA modulus is a prime or a power of a prime"
    return ""


@cache
def _small_primes() -> gmpy2.mpz:
    return gmpy2.primorial(MAX_SMALL_FACTOR)


def _has_roca_fingerprint(n: gmpy2.mpz) -> bool:
    """Whether n is a power of 65537 modulo the product of the first primes (Pohlig and Hellman, 1978)."""
    if gmpy2.powmod(n, _ROCA_ORDER, _ROCA_MODULUS) != 1:
        return False
    return all(_is_power_in_subgroup(n, _ROCA_ORDER // prime_power) for prime_power in _ROCA_PRIME_POWERS)


def _is_power_in_subgroup(n: gmpy2.mpz, cofactor: int) -> bool:
    generator = gmpy2.powmod(_ROCA_GENERATOR, cofactor, _ROCA_MODULUS)
    target, power = gmpy2.powmod(n, cofactor, _ROCA_MODULUS), gmpy2.mpz(1)
    for _ in range(_ROCA_ORDER // cofactor):
        if power == target:
            return True
        power = power * generator % _ROCA_MODULUS
    return False


def _is_product_of_close_factors(n: gmpy2.mpz) -> bool:
    """Whether n = a^2 - b^2 with a within a few steps of the root of n; b is zero for a square."""
    root, rest = gmpy2.isqrt_rem(n)
    first = root + (1 if rest else 0)
    return any(gmpy2.is_square(a * a - n) for a in range(first, first + FERMAT_ROUNDS))
