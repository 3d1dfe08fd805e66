"""The dialog that resends a delivery of a webhook."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.webhooks import WebhookDeliveryHandle, WebhookEndpointHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards.issuers.event_words import write_event
from attestlab_dashboards.issuers.panes.deliveries import load_deliveries
from attestlab_dashboards.issuers.state import RESEND, IssuerState
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html


class ResendQuestion(NamedTuple):
    """The delivery that the open dialog asks about, and its endpoint."""

    endpoint: WebhookEndpointHandle
    delivery: WebhookDeliveryHandle


def load_resend(lab: Lab, state: IssuerState) -> ResendQuestion | None:
    """Load the delivery that the dialog asks about; None while it is closed, or if the delivery is not shown."""
    if state.ask != RESEND:
        return None
    found = load_deliveries(lab, state)
    delivery = next((each for each in found.deliveries if str(each.id) == state.about), None)
    if delivery is None or found.endpoint is None or not found.may_write:
        return None
    return ResendQuestion(found.endpoint, delivery)


def draw_resend(question: ResendQuestion | None, _state: IssuerState) -> Markup:
    """Draw the dialog; nothing while it is closed."""
    if question is None:
        return NOTHING
    return html(
        '<div class="al-dialog" role="dialog" aria-modal="true" aria-label="{title}"><div class="is-dialog">'
        '<h2>{title}</h2><p class="sub">To {name}, {url}. The receiver gets the same event id, so it can recognise an '
        'event that it has.</p><form data-act="resend"><input type="hidden" name="delivery" value="{id}">'
        '<div class="is-foot"><button type="button" class="btn" data-ev="close" data-v="" data-key="close-dialog">'
        'Cancel</button><button type="submit" class="btn primary" data-key="submit">Resend now</button></div></form>'
        "</div></div>",
        title=f"Resend “{write_event(question.delivery.event_type)}”",
        name=question.endpoint.name,
        url=question.endpoint.url,
        id=str(question.delivery.id),
    )


PANE: Final = Pane(
    key="resend",
    load=load_resend,
    draw=draw_resend,
    reads=("ask", "about", "endpoint", "listed"),
    scope=Scope.ISSUERS_READ.value,
)
