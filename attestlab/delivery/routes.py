"""HTTP route of deliveries."""

from uuid import UUID

from attestlab.consumer.inbox.tables import InboxItemRecord
from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.service import Deliveries
from attestlab.delivery.shapes import DeliveryOut, RecipientOut
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.routing.routes import Routes

routes = Routes("delivery")
_render_delivery = RowRenderer(DeliveryOut, InboxItemRecord, computed=["items"], delivery_state="state")
_render_recipient = RowRenderer(RecipientOut, InboxItemRecord, delivery_state="state")


@routes.get("/v1/attestations/{id}/delivery", scope=Scope.ATTESTATIONS_READ)
def get_delivery(id: UUID, caller: Caller, deliveries: Deliveries) -> DeliveryOut:
    """Get the delivery state of an attestation: delivered, declined, or pending until there is an account.

    An attestation without a recipient has no delivery, which is a 404.
    """
    items = deliveries.list_recipients(id, caller=caller)
    return _render_delivery(items[0], items=list(map(_render_recipient, items)))
