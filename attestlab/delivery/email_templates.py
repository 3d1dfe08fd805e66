"""Mails to recipients of attestations: plain text, without any claim."""

from __future__ import annotations

from attestlab.mail.rules import MailText


def notification_mail(link: str, *, issuer_name: str) -> MailText:
    """Return the mail for a recipient who has an account."""
    return MailText(
        f"{issuer_name} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        "Anyone with this link can see what it says.\n",
    )


def invitation_mail(link: str, *, issuer_name: str, recipient: str) -> MailText:
    """Return the mail for a recipient who has no account."""
    return MailText(
        f"{issuer_name} has issued an attestation to you",
        f"{issuer_name} has issued an attestation to you. See it, and check it, here:\n\n"
        f"{link}\n\n"
        f"It needs no account. Should you open one with the address {recipient}, it will wait for you there, "
        "with all others that were issued to this address.\n",
    )
