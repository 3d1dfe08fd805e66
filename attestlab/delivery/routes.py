"""HTTP routes for deliveries."""

from uuid import UUID

from attestlab.delivery.service import Deliveries, DeliveryState
from attestlab.delivery.shapes import DeliveryOut
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.routing.routes import Routes

routes = Routes("delivery")


@routes.get("/v1/attestations/{id}/delivery", scope=Scope.ATTESTATIONS_READ)
def get_delivery(id: UUID, caller: Caller, deliveries: Deliveries) -> DeliveryOut:
    """Get the delivery state of an attestation: delivered, or pending until the recipient opens an account.

    An attestation that was minted without `recipient_email` has no delivery, which is a 404.
    """
    record = deliveries.get(id, caller=caller)
    return DeliveryOut(
        attestation_id=id,
        recipient_email=record.recipient_email,
        delivery_state=DeliveryState(record.state).value,
        created_at=record.created_at,
        delivered_at=record.delivered_at,
    )
