"""Wire models of the inbox (CONTRACT 11.2)."""

from enum import StrEnum
from typing import Annotated

from pydantic import JsonValue, StringConstraints

from attestlab.attestations.rules import Status
from attestlab.attestations.shapes import AttestationOut
from attestlab.consumer.inbox.rules import MAX_REASON_LENGTH, ReadState
from attestlab.core.filters import NO_CONDITION
from attestlab.core.shapes import Email, In, Moment, Out, SecretText, Uuid, one_of
from attestlab.delivery.shapes import DeliveryStateName
from attestlab.web.paging import Page, PageQuery

DeclineReason = Annotated[str, StringConstraints(min_length=1, max_length=MAX_REASON_LENGTH)]
RecipientUsername = Annotated[str, StringConstraints(min_length=1, max_length=30)]
ReadStateName = Annotated[str, one_of(ReadState)]


class InboxFilter(StrEnum):
    """Which items a list has: those of one read state, or all."""

    UNREAD = "UNREAD"
    ALL = "ALL"
    READ = "READ"
    ARCHIVED = "ARCHIVED"

    @property
    def read_states(self) -> tuple[ReadState, ...]:
        """The read states of the items."""
        return tuple(ReadState) if self is InboxFilter.ALL else (ReadState(self.value),)


class InboxQuery(PageQuery, source="SPEC GET /v1/consumer/inbox"):
    """The filter of an inbox."""

    read_state: Annotated[InboxFilter, NO_CONDITION] = InboxFilter.UNREAD
    """Which items to list. Format: UNREAD, ALL, READ or ARCHIVED."""


class InboxItemPatch(In, wire_name="inbox_item_update", source="CONTRACT 11.2"):
    """The read state that an item gets."""

    read_state: ReadState
    """What the recipient did with it. Format: UNREAD, READ or ARCHIVED."""


class DeclineIn(In, source="CONTRACT 11.2"):
    """Why the recipient declines an attestation, which its issuer can read."""

    reason: DeclineReason | None = None
    """The reason, for the issuer. Format: text, 1-1000 characters."""


class DeliverIn(In, wire_name="inbox_delivery_input", source="CONTRACT 11.2"):
    """An attestation to deliver to one recipient, by `recipient_email` or by `username`."""

    attestation_id: Uuid
    """A VALID attestation of the caller's tenant. Format: UUID, 36 characters."""
    recipient_email: Email | None = None
    """The recipient's address; without an account they are invited. Format: e-mail address."""
    username: RecipientUsername | None = None
    """The recipient's username. Format: 3-30 of a-z 0-9 _ -."""
    safe_metadata: dict[str, JsonValue] | None = None
    """What their inbox shows of it; by default schema, issuer_name and title. Format: JSON, at most 4096 bytes."""


class InboxDeliveryOut(Out, wire_name="inbox_delivery", source="CONTRACT 11.2"):
    """The delivery of an attestation to a recipient."""

    id: Uuid
    """The delivery, which is an item of the recipient's inbox. Format: UUID, 36 characters."""
    attestation_id: Uuid
    """The attestation. Format: UUID, 36 characters."""
    delivery_state: DeliveryStateName
    """Whether the recipient has it. Format: PENDING, DELIVERED or DECLINED."""
    created_at: Moment
    """When it was delivered first. Format: RFC 3339 date-time, UTC, milliseconds."""


class InboxItemOut(Out, wire_name="inbox_item", source="CONTRACT 11.2"):
    """An attestation that was delivered to the consumer."""

    id: Uuid
    """The item. Format: UUID, 36 characters."""
    issuer_id: Uuid
    """The issuer of the attestation. Format: UUID, 36 characters."""
    issuer_name: str
    """Its name now. Format: 1-200 characters."""
    attestation_id: Uuid
    """The attestation. Format: UUID, 36 characters."""
    delivery_state: DeliveryStateName
    """DELIVERED, or DECLINED by the consumer. Format: PENDING, DELIVERED or DECLINED."""
    read_state: ReadStateName
    """What the consumer did with it. Format: UNREAD, READ or ARCHIVED."""
    safe_metadata: dict[str, JsonValue]
    """What the issuer shows of it; by default schema, issuer_name and title. Format: JSON, at most 4096 bytes."""
    attestation_status: Status
    """The status of the attestation at the time of the response. Format: VALID, REVOKED, SUPERSEDED or EXPIRED."""
    share_url: SecretText
    """The public page with its claims, for anyone who has this link. Format: absolute URL."""
    created_at: Moment
    """When the issuer delivered it. Format: RFC 3339 date-time, UTC, milliseconds."""
    updated_at: Moment
    """When the item last changed. Format: RFC 3339 date-time, UTC, milliseconds."""


class InboxItemDetailOut(InboxItemOut, wire_name="inbox_item_detail", source="CONTRACT 11.2"):
    """An item of the inbox with its attestation."""

    attestation: AttestationOut | None
    """The attestation; null once the consumer declined it."""


class InboxPageOut(Page[InboxItemOut], wire_name="inbox_page", source="SPEC GET /v1/consumer/inbox"):
    """A page of an inbox, newest first."""

    total: int
    """The number of items that the filter matches, on all pages. Format: from 0."""
