"""Mails about accounts of consumers: plain text, without anything that a person wrote.

Their links lead to pages that ask for a password before anything changes, so a stranger who follows one completes
nothing.
"""

from __future__ import annotations

from datetime import datetime

from attestlab.mail.rules import MailText

_SUBJECT = "Confirm your e-mail address"


def verification_mail(portal_url: str, token: str, *, until: datetime) -> MailText:
    """Return the mail that lets a new consumer verify their address."""
    return MailText(
        _SUBJECT,
        f"Someone signed up with this address at {portal_url}.\n\n"
        f"{_link(portal_url, token, until)}"
        "The page asks for the password that was chosen. "
        "If it was not you, do nothing: the sign-up ends after a day.\n",
    )


def known_address_mail(portal_url: str) -> MailText:
    """Return the mail of a sign-up with an address that has an account already."""
    return MailText(
        _SUBJECT,
        f"Someone signed up with this address at {portal_url}. You have an account already; nothing changed.\n\n"
        f"Sign in here: {portal_url}/signin\n"
        f"Choose another password, if you forgot yours: {portal_url}/reset-password\n\n"
        "If it was not you, do nothing.\n",
    )


def no_signup_mail(portal_url: str) -> MailText:
    """Return the mail for someone who asks again for the mail of a sign-up that does not wait any more."""
    return MailText(
        _SUBJECT,
        f"Someone asked {portal_url} to confirm this address, but no sign-up with it waits for that. A sign-up ends "
        "after a day.\n\n"
        f"Sign up here: {portal_url}/signup\n\n"
        "If it was not you, do nothing.\n",
    )


def further_address_mail(portal_url: str, token: str, *, until: datetime) -> MailText:
    """Return the mail that lets a consumer verify another address of theirs."""
    return MailText(
        _SUBJECT,
        f"Someone added this address to their account at {portal_url}.\n\n"
        f"{_link(portal_url, token, until)}"
        "The page asks for the password of that account. If it was not you, do nothing.\n",
    )


def taken_address_mail(portal_url: str) -> MailText:
    """Return the mail for an address that another account has."""
    return MailText(
        _SUBJECT,
        f"Someone added this address to their account at {portal_url}, but it belongs to another account already. "
        "Nothing changed.\n\n"
        f"If both are yours, remove it from the other one first: {portal_url}/settings\n\n"
        "If it was not you, do nothing.\n",
    )


def invitation_mail(portal_url: str, link: str, *, until: datetime) -> MailText:
    """Return the mail of an invitation that comes from the operator, without an attestation."""
    return MailText(
        "Invitation to an account",
        f"You are invited to open an account at {portal_url}.\n\n"
        f"Choose a password here, by {until:%d %B %Y, %H:%M} UTC:\n\n{link}\n\n"
        "The link opens an account with your address: do not pass it on. If you did not expect it, do nothing.\n",
    )


def _link(portal_url: str, token: str, until: datetime) -> str:
    link = f"{portal_url}/verify-email?token={token}"
    return f"Confirm that it is yours, by {until:%d %B %Y, %H:%M} UTC:\n\n{link}\n\n"
