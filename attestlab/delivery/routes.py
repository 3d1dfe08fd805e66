"""HTTP routes for deliveries."""

from uuid import UUID

from attestlab.delivery.shapes import DeliveryOut
from attestlab.orgs.rules import Scope
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("delivery")


@routes.get("/v1/attestations/{id}/delivery", scope=Scope.ATTESTATIONS_READ)
def delivery(request: Request, id: UUID) -> DeliveryOut:
    """The delivery state of an attestation: delivered, or pending until the recipient opens an account."""
    record = request.lab.deliveries.get(id, caller=request.caller)
    return DeliveryOut(
        attestation_id=id,
        recipient_email=record.recipient_email,
        delivery_state=record.state,
        created_at=record.created_at,
        delivered_at=record.delivered_at,
    )
