"""Tables of the inbox: items, and how many of them each account has.

An item is also the issuer's record of its delivery. Until revision 0030 an attestation had one recipient, and its row
had no id; such a row got the attestation's. The digest of a row leaves out the id, by which the audit trail names it,
and what only the recipient may know: whether and when they read it.
"""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.core.records.row_digest import UNDIGESTED

SINCE_0030 = {"info": {"since": "0030"}}
_IS_PENDING = "state = 'PENDING'"


@short_repr
class InboxItemRecord(NamedTuple):
    """An attestation and one recipient, whom the issuer named by address or by username.

    `user_id` is the recipient's account, if any. An item without one that is DELIVERED waited for an address whose
    account has the attestation already. `safe_metadata` is the JSON object that the issuer sent with it.
    """

    id: Annotated[UUID, Field(primary_key=True, sa_column_kwargs=UNDIGESTED)]
    attestation_id: UUID
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    issuer_id: Annotated[UUID, Field(foreign_key="issuers.id")]
    recipient_email: Annotated[str | None, Field(max_length=254)]
    user_id: Annotated[UUID | None, Field(foreign_key="users.id")]
    state: Annotated[str, Field(max_length=10)]
    created_at: datetime
    delivered_at: datetime | None
    username: Annotated[str | None, Field(max_length=30, sa_column_kwargs=SINCE_0030)]
    safe_metadata: Annotated[bytes | None, Field(sa_column_kwargs=SINCE_0030)]
    declined_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0030)]
    decline_reason: Annotated[str | None, Field(max_length=1000, sa_column_kwargs=SINCE_0030)]
    read_state: Annotated[str, Field(max_length=8, sa_column_kwargs=UNDIGESTED)]
    updated_at: Annotated[datetime, Field(sa_column_kwargs=UNDIGESTED)]


@short_repr
class InboxCountRecord(NamedTuple):
    """How many items of each read state an account has, so that a page need not count them."""

    user_id: Annotated[UUID, Field(primary_key=True, foreign_key="users.id")]
    unread: Annotated[int, Field(sa_type=BigInteger)]
    read: Annotated[int, Field(sa_type=BigInteger)]
    archived: Annotated[int, Field(sa_type=BigInteger)]


InboxItem = model_of(
    InboxItemRecord,
    "inbox_items",
    Index("ix_inbox_items_of_account", "user_id", "read_state", "id"),
    Index("ix_inbox_items_of_address", "attestation_id", "recipient_email", unique=True),
    Index("ix_inbox_items_of_recipient", "attestation_id", "user_id", unique=True),
    Index("ix_inbox_items_pending", "recipient_email", sqlite_where=text(_IS_PENDING)),
)
InboxCount = model_of(InboxCountRecord, "inbox_counts")
