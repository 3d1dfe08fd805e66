"""Wire models of deliveries (CONTRACT 11.2)."""

from typing import Annotated

from attestlab.consumer.inbox.rules import DeliveryState
from attestlab.core.shapes import Moment, Out, Uuid, one_of

DeliveryStateName = Annotated[str, one_of(DeliveryState)]


class RecipientOut(Out, wire_name="delivery_recipient", source="CONTRACT 11.2"):
    """The delivery of an attestation to one recipient, as the issuer named them."""

    id: Uuid
    """The delivery, which is an item of the recipient's inbox. Format: UUID, 36 characters."""
    recipient_email: str | None
    """Their address; null if the issuer named a username. Format: e-mail address in lower case."""
    username: str | None
    """Their username; null if the issuer named an address. Format: 3-30 of a-z 0-9 _ -."""
    delivery_state: DeliveryStateName
    """PENDING until an account has the address, DELIVERED then; DECLINED by the recipient is final.
    Format: PENDING, DELIVERED or DECLINED.
    """
    decline_reason: str | None
    """Why they declined it; null if they did not, or gave no reason. Format: text, 1-1000 characters."""
    created_at: Moment
    """When the issuer named them. Format: RFC 3339 date-time, UTC, milliseconds."""
    delivered_at: Moment | None
    """When they received it. Format: RFC 3339 date-time, UTC, milliseconds."""
    declined_at: Moment | None
    """When they declined it. Format: RFC 3339 date-time, UTC, milliseconds."""


class DeliveryOut(Out, source="CONTRACT 11.2"):
    """The delivery state of an attestation; the fields beside `items` are those of the first recipient."""

    attestation_id: Uuid
    """The attestation. Format: UUID, 36 characters. Source: CONTRACT 5."""
    recipient_email: str | None
    """The recipient; null if the issuer named a username. Format: e-mail address in lower case. Source: CONTRACT 5."""
    delivery_state: DeliveryStateName
    """DELIVERED if the recipient has it, PENDING until there is an account with this address, or DECLINED.
    Format: PENDING, DELIVERED or DECLINED.
    """
    created_at: Moment
    """When it was minted for the recipient. Format: RFC 3339 date-time, UTC, milliseconds."""
    delivered_at: Moment | None
    """When the recipient received it. Format: RFC 3339 date-time, UTC, milliseconds."""
    items: list[RecipientOut]
    """All recipients, oldest first. Format: 1-20 recipients."""
