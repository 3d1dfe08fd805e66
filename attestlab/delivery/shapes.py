"""Wire models of deliveries."""

from typing import Literal

from attestlab.core.shapes import Moment, Out, Uuid


class DeliveryOut(Out, source="CONTRACT 11"):
    """The delivery state of an attestation."""

    attestation_id: Uuid
    """The attestation. Format: UUID, 36 characters. Source: CONTRACT 5."""
    recipient_email: str
    """The recipient. Format: e-mail address in lower case. Source: CONTRACT 5."""
    delivery_state: Literal["PENDING", "DELIVERED"]
    """DELIVERED if the recipient has it; PENDING until there is an account with this address.
    Format: PENDING or DELIVERED.
    """
    created_at: Moment
    """When it was minted for the recipient. Format: RFC 3339 date-time, UTC, milliseconds."""
    delivered_at: Moment | None
    """When the recipient received it. Format: RFC 3339 date-time, UTC, milliseconds."""
