"""HTTP route and wire model of deliveries."""

from typing import Literal
from uuid import UUID

from attestlab.core.row_rendering import RowRenderer
from attestlab.core.shapes import Moment, Out, Uuid
from attestlab.delivery.service import Deliveries
from attestlab.delivery.store import DeliveryRecord
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.routing.routes import Routes


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


routes = Routes("delivery")
_render_delivery = RowRenderer(DeliveryOut, DeliveryRecord, delivery_state="state")


@routes.get("/v1/attestations/{id}/delivery", scope=Scope.ATTESTATIONS_READ)
def get_delivery(id: UUID, caller: Caller, deliveries: Deliveries) -> DeliveryOut:
    """Get the delivery state of an attestation: delivered, or pending until the recipient opens an account.

    An attestation that was minted without `recipient_email` has no delivery, which is a 404.
    """
    return _render_delivery(deliveries.get(id, caller=caller))
