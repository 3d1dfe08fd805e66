"""Wire models of deliveries."""

from typing import Literal

from attestlab.core.shapes import Moment, Out, Uuid


class DeliveryOut(Out):
    """The delivery state of an attestation."""

    attestation_id: Uuid
    recipient_email: str
    delivery_state: Literal["PENDING", "DELIVERED"]
    created_at: Moment
    delivered_at: Moment | None
