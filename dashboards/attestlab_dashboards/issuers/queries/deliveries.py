"""Webhook endpoints, and the newest deliveries to one of them with their attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.webhooks import WebhookDeliveryHandle, WebhookEndpointHandle
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Scope
from attestlab_dashboards.issuers.queries.instant import read_now
from attestlab_dashboards.issuers.queries.viewer import read_viewer
from attestlab_dashboards.issuers.state import RESEND, IssuerState
from attestlab_dashboards.lake_query import LakeQuery

MAX_DELIVERIES: Final = 10
_OF_ALL: Final = "SELECT * FROM deliveries ORDER BY attempted_at DESC, seq DESC"
_OF_ENDPOINT: Final = "SELECT * FROM deliveries WHERE endpoint_id = $endpoint ORDER BY attempted_at DESC, seq DESC"


class EndpointDeliveries(NamedTuple):
    """The endpoints, newest first, and the deliveries to `endpoint`; `is_visible` is false for other than members."""

    now: datetime
    may_write: bool
    endpoints: tuple[WebhookEndpointHandle, ...]
    endpoint: WebhookEndpointHandle | None
    deliveries: tuple[WebhookDeliveryHandle, ...]
    is_visible: bool = True


class ResendQuestion(NamedTuple):
    """The delivery that the open dialog asks about, and its endpoint."""

    endpoint: WebhookEndpointHandle
    delivery: WebhookDeliveryHandle


def load_deliveries(lab: Lab, state: IssuerState) -> EndpointDeliveries:
    """Load the newest deliveries to the chosen endpoint, by default the newest one."""
    now, may_write = read_now(lab), Scope.WEBHOOKS_WRITE in read_viewer(lab).caller.scopes
    try:
        endpoints = tuple(lab.webhooks)
    except PermissionDenied:
        return EndpointDeliveries(now, may_write, (), None, (), is_visible=False)
    chosen = next((each for each in endpoints if str(each.id) == state.endpoint), endpoints[0] if endpoints else None)
    deliveries = () if chosen is None else tuple(chosen.deliveries(limit=MAX_DELIVERIES))
    return EndpointDeliveries(now, may_write, endpoints, chosen, deliveries)


def load_resend(lab: Lab, state: IssuerState) -> ResendQuestion | None:
    """Load the delivery that the dialog asks about; None while it is closed, or if the delivery is not shown."""
    if state.ask != RESEND:
        return None
    found = load_deliveries(lab, state)
    delivery = next((each for each in found.deliveries if str(each.id) == state.about), None)
    if delivery is None or found.endpoint is None or not found.may_write:
        return None
    return ResendQuestion(found.endpoint, delivery)


def export_attempts(lab: Lab, state: IssuerState) -> Rows:
    """Return all attempts to the chosen endpoint, or to all."""
    return _compose(state).read(lab)


def write_attempts_sql(state: IssuerState) -> str:
    """Write the query of these attempts."""
    return _compose(state).to_sql()


def _compose(state: IssuerState) -> LakeQuery:
    return LakeQuery.bind(_OF_ENDPOINT if state.endpoint else _OF_ALL, {"endpoint": state.endpoint})
