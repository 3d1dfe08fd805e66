"""What an invitation says; its link carries the token, and nothing else does."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Letter(NamedTuple):
    """A subject of one line, and a plain text."""

    subject: str
    text: str


def letter(portal_url: str, token: str, *, team_name: str, until: datetime) -> Letter:
    """The invitation of somebody to `team_name`, good until the moment `until` (UTC)."""
    text = (
        f"You are invited to {team_name}.\n\n"
        f"Choose a password here, by {until:%d %B %Y, %H:%M} UTC:\n\n"
        f"{portal_url}/invitations/accept?token={token}\n\n"
        "Whoever has this link can accept the invitation. If you did not expect it, do nothing.\n"
    )
    return Letter(f"Invitation to {team_name}", text)
