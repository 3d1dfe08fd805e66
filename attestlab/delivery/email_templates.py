"""What recipients are told; plain text, and nothing of a claim."""

from __future__ import annotations

from typing import NamedTuple


class Letter(NamedTuple):
    """A subject of one line, and a plain text."""

    subject: str
    text: str


def notification(link: str, *, issuer_name: str) -> Letter:
    """To somebody who has an account."""
    return Letter(
        f"{issuer_name} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        "Whoever has this link can see what it says.\n",
    )


def invitation(link: str, *, issuer_name: str, recipient: str) -> Letter:
    """To somebody who has none yet."""
    return Letter(
        f"{issuer_name} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        f"It needs no account. Should you open one with the address {recipient}, it will wait for you there, "
        "with all others that were issued to this address.\n",
    )
