"""Password hashes, and the rules for a new password."""

from __future__ import annotations

import subprocess
import sys

import pytest

from attestlab.core.crypto import passwords
from attestlab.core.errors import ValidationFailed

GOOD = "correct horse battery staple"


def test_hash_matches_only_its_password() -> None:
    stored = passwords.hash_password(GOOD)

    assert passwords.matches(GOOD, stored)
    assert not passwords.matches(GOOD + " ", stored)
    assert stored.startswith("$argon2id$")
    assert stored != passwords.hash_password(GOOD)
    assert not passwords.is_outdated(stored)


@pytest.mark.parametrize("stored", [None, "", "plain", "$argon2id$v=19$m=65536,t=3,p=4$AAAA", "$2b$12$" + "x" * 53])
def test_malformed_hash_matches_no_password(stored: str | None) -> None:
    assert not passwords.matches(GOOD, stored)
    assert not passwords.matches("", stored)


@pytest.mark.parametrize("password", ["twelve chars", "é" * 512, "x" * 1024, "            "])
def test_any_password_of_12_characters_to_1024_bytes_is_accepted(password: str) -> None:
    """It also counts whole: its hash matches no password that is one character longer or shorter."""
    passwords.require_acceptable(password, email="ada@example.org", field="/password")

    stored = passwords.hash_password(password)
    assert passwords.matches(password, stored)
    assert not passwords.matches(password[:-1], stored)
    assert not passwords.matches(password + password[-1], stored)


@pytest.mark.parametrize(
    ("password", "code"),
    [
        ("eleven char", "too_short"),
        ("", "too_short"),
        ("x" * 1025, "too_long"),
        ("é" * 513, "too_long"),
        ("ada@example.org", "is_email"),
        (" ADA@example.ORG ", "is_email"),
    ],
)
def test_weak_password_is_rejected_with_its_field(password: str, code: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        passwords.require_acceptable(password, email="Ada@example.org", field="/password")

    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/password", code)]


def test_hashing_uses_the_low_memory_parameters_of_rfc_9106() -> None:
    """
    64 MiB, three passes, four lanes; measured in a separate process, because other tests hash cheaply.
    """
    code = f"from attestlab.core.crypto import passwords; print(passwords.hash_password({GOOD!r}))"
    stored = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")
    assert passwords.matches(GOOD, stored)
    assert passwords.is_outdated(stored), "other tests were to hash cheaply"
