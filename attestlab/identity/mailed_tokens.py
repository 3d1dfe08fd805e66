"""One-use tokens in mailed links: 32 random bytes, of which the service stores the SHA-256 only.

A token is bound to its purpose and subject, expires by the service's clock, and is used up in the transaction that it
allows. A GET of its link changes nothing, because scanners follow links.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from uuid import UUID

from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import FieldError, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.identity import store
from attestlab.identity.rules import TokenPurpose
from attestlab.identity.tables import MailedTokenRecord
from attestlab.orgs.role_rules import TOKEN_BYTES, hash_invitation


def create_token(
    tx: Transaction, purpose: TokenPurpose, subject: str, *, ttl: timedelta, tenant_id: UUID, actor: Actor, at: datetime
) -> str:
    """Store a new token and return it; it exists nowhere else than in the mail."""
    token = b64url_encode(secrets.token_bytes(TOKEN_BYTES))
    row = MailedTokenRecord(
        id=new_id(at),
        token_sha256=hash_invitation(token),
        tenant_id=tenant_id,
        purpose=purpose.value,
        subject=subject,
        created_at=at,
        expires_at=at + ttl,
    )
    context = AuditContext(tenant_id, actor, "mailed_token.create", at)
    audited_write.insert(tx, store.mailed_tokens, row, context)
    return token


def find_token(execute: Execute, token: str, *purposes: TokenPurpose, now: datetime) -> MailedTokenRecord | None:
    """Return an unexpired token of one of these purposes; it may have been used."""
    row = store.find_mailed_token(execute, hash_invitation(token))
    if row is None or row.purpose not in purposes or not row.created_at <= now < row.expires_at:
        return None
    return row


def mark_used(
    tx: Transaction,
    row: MailedTokenRecord,
    *,
    actor: Actor,
    at: datetime,
    subject: str | None = None,
    claimed: int | None = None,
) -> None:
    """Use a token up; `subject` replaces what it was about, `claimed` attestations were delivered by its use."""
    changes = {"used_at": at, "claimed": claimed, "subject": row.subject if subject is None else subject}
    context = AuditContext(row.tenant_id, actor, "mailed_token.use", at)
    audited_write.change(tx, store.mailed_tokens, row, changes, context)


def token_invalid(field: str = "/token", reason: str = "token_invalid") -> ValidationFailed:
    """Build the error for a token that is unknown, of another purpose, used or expired; it does not say which."""
    message = "This link is not valid: it is of another address, was used, or has expired. Ask for another mail."
    return ValidationFailed(message, [FieldError(field, reason, message)], details={"reason": reason})
