"""HTTP routes for deliveries."""

from uuid import UUID

from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.service import Deliveries
from attestlab.delivery.shapes import DeliveryOut
from attestlab.delivery.tables import DeliveryRecord
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.routing.routes import Routes

routes = Routes("delivery")
_render_delivery = RowRenderer(DeliveryOut, DeliveryRecord, delivery_state="state")


@routes.get("/v1/attestations/{id}/delivery", scope=Scope.ATTESTATIONS_READ)
def get_delivery(id: UUID, caller: Caller, deliveries: Deliveries) -> DeliveryOut:
    """Get the delivery state of an attestation: delivered, or pending until the recipient opens an account.

    An attestation that was minted without `recipient_email` has no delivery, which is a 404.
    """
    return _render_delivery(deliveries.get(id, caller=caller))
