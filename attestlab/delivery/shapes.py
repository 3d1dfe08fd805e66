"""What goes over the wire about deliveries."""

from typing import Literal

from attestlab.core.shapes import Moment, Out, Uuid


class DeliveryOut(Out):
    """How far an attestation has come on its way to whom it is for."""

    attestation_id: Uuid
    recipient_email: str
    delivery_state: Literal["PENDING", "DELIVERED"]
    created_at: Moment
    delivered_at: Moment | None
