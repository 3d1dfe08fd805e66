"""Mail that invites a person to a tenant; only its link carries the token."""

from __future__ import annotations

from datetime import datetime

from attestlab.mail.rules import MailText


def invitation_mail(portal_url: str, token: str, *, team_name: str, until: datetime) -> MailText:
    """Return the mail that invites a person to `team_name`; its link works until `until` (UTC)."""
    text = (
        f"You are invited to {team_name}.\n\n"
        f"Choose a password here, by {until:%d %B %Y, %H:%M} UTC:\n\n"
        f"{portal_url}/invitations/accept?token={token}\n\n"
        "Anyone with this link can accept the invitation. If you did not expect it, do nothing.\n"
    )
    return MailText(f"Invitation to {team_name}", text)
