"""Mails that invite a person to a tenant; only the link of one carries the token."""

from __future__ import annotations

from datetime import datetime

from attestlab.mail.rules import MailText, name_in_subject


def invitation_mail(portal_url: str, token: str, *, team_name: str, until: datetime) -> MailText:
    """Return the mail that invites a person to `team_name`; its link works until `until` (UTC)."""
    text = (
        f"You are invited to {team_name}.\n\n"
        f"Choose a password here, by {until:%d %B %Y, %H:%M} UTC:\n\n"
        f"{portal_url}/invitations/accept?token={token}\n\n"
        "Anyone with this link can accept the invitation. If you did not expect it, do nothing.\n"
    )
    return MailText(f"Invitation to {name_in_subject(team_name)}", text)


def shadowed_mail(*, team_name: str) -> MailText:
    """Return the mail to an invited address that has an account elsewhere."""
    text = (
        f"You are invited to {team_name}.\n\n"
        "You cannot accept with this address: it has an account of another kind, and an address has one account. The "
        "team does not learn this.\n\n"
        "To join, ask the team to invite another address of yours. If you did not expect this mail, do nothing.\n"
    )
    return MailText(f"Invitation to {name_in_subject(team_name)}", text)
