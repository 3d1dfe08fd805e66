"""Invitations of consumers: the mail of a mint to an unknown address has a link that opens an account with it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.consumer.accounts import rules, store
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.records.actors import Actor
from attestlab.identity import mailed_tokens
from attestlab.identity.rules import TokenPurpose
from attestlab.identity.tables import MailedTokenRecord


def invite(tx: Transaction, address: str, *, portal_url: str, tenant_id: UUID, actor: Actor, at: datetime) -> str:
    """Create an invitation for an address without an account; return its link, for a mail to this address alone."""
    token = mailed_tokens.create_token(
        tx, TokenPurpose.INVITATION, address, ttl=rules.INVITATION_TTL, tenant_id=tenant_id, actor=actor, at=at
    )
    return f"{portal_url}/signup?token={token}"


def find_invitation(execute: Execute, token: str, address: str | None = None, *, now: datetime) -> MailedTokenRecord:
    """Return an open invitation, of this address if one is given; its subject is the address.

    Raises:
        ValidationFailed: the token is unknown, of another address, used or expired, or the address has an account.
    """
    row = mailed_tokens.find_token(execute, token, TokenPurpose.INVITATION, now=now)
    if row is None or row.used_at is not None or row.subject != (address or row.subject):
        raise mailed_tokens.token_invalid("/invitation_token", "invitation_invalid")
    if store.is_taken(execute, row.subject):
        raise mailed_tokens.token_invalid("/invitation_token", "invitation_invalid")
    return row
