"""Webhooks: the endpoints, and the newest deliveries to one of them, each with its attempts."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.webhooks import WebhookDeliveryHandle, WebhookEndpointHandle
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Scope
from attestlab.webhooks.delivery_shapes import WebhookAttemptOut
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import plural, time_tag
from attestlab_dashboards.issuers.event_words import draw_event
from attestlab_dashboards.issuers.state import LISTED, RESEND, IssuerState
from attestlab_dashboards.issuers.viewer import read_viewer
from attestlab_dashboards.issuers.words import draw_status
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import TableColumn

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
    has_more: bool = False


def load_deliveries(lab: Lab, state: IssuerState) -> EndpointDeliveries:
    """Load the newest deliveries to the chosen endpoint, by default the newest one."""
    now, may_write = lab.now(), Scope.WEBHOOKS_WRITE in read_viewer(lab).caller.scopes
    try:
        endpoints = tuple(lab.webhooks)
    except PermissionDenied:
        return EndpointDeliveries(now, may_write, (), None, (), is_visible=False)
    chosen = next((each for each in endpoints if str(each.id) == state.endpoint), endpoints[0] if endpoints else None)
    deliveries = Records[WebhookDeliveryHandle]() if chosen is None else chosen.deliveries(limit=state.listed)
    return EndpointDeliveries(now, may_write, endpoints, chosen, tuple(deliveries), has_more=deliveries.truncated)


def export_attempts(lab: Lab, state: IssuerState) -> Rows:
    """Return all attempts to the chosen endpoint, or to all."""
    return _compose(state).read(lab)


def write_attempts_sql(state: IssuerState) -> str:
    """Write the query of these attempts."""
    return _compose(state).to_sql()


def _compose(state: IssuerState) -> LakeQuery:
    return LakeQuery.bind(_OF_ENDPOINT if state.endpoint else _OF_ALL, {"endpoint": state.endpoint})


_HEADINGS: Final = (
    TableColumn("Event"),
    TableColumn("State"),
    TableColumn("Attempts"),
    TableColumn("Sent", "right", phone=False),
)
_DISABLED: Final = "The endpoint is disabled, so nothing is delivered to it."
_REASONS: Final = {
    "gone": "it answered 410, which asks for no more",
    "failing": "it failed for five days",
    "requested": "a member disabled it",
}


def write_reading(found: EndpointDeliveries, _state: IssuerState) -> str:
    """Write which deliveries these are."""
    if found.endpoint is None:
        return "Events that are sent to your servers"
    newest = plural(len(found.deliveries), "delivery", "deliveries")
    return f"{'The newest ' if found.has_more else ''}{newest} to {found.endpoint.name}, each with its attempts"


def draw_deliveries(found: EndpointDeliveries, state: IssuerState) -> Markup:
    """Draw the endpoints to choose from, and the deliveries to one."""
    if not found.is_visible:
        return widgets.state("lock", "", "For members", html("Deliveries are shown to members of the tenant."))
    if found.endpoint is None:
        why = html(
            "No server receives events yet. Create an endpoint: {code}.",
            code=html("<code>lab.webhooks.create(url, events)</code>"),
        )
        return widgets.empty("No endpoint", why)
    return join(
        [
            _draw_choice(found),
            _draw_endpoint(found.endpoint),
            _draw_list(found, found.endpoint),
            _draw_more(found, state),
        ]
    )


def _draw_choice(found: EndpointDeliveries) -> Markup:
    if len(found.endpoints) < 2:
        return NOTHING
    chips = join(
        widgets.chip(each.name, ev="endpoint", v=str(each.id), pressed=each is found.endpoint)
        for each in found.endpoints
    )
    return html('<div class="chips" role="group" aria-label="Endpoints">{chips}</div>', chips=chips)


def _draw_endpoint(endpoint: WebhookEndpointHandle) -> Markup:
    reason = _REASONS.get(endpoint.disabled_reason or "", "")
    return html(
        '<div class="is-wish"><span><b>{name}</b> <span class="muted">{url}</span></span>{status}</div>'
        '<div class="sub">receives {filters}{reason}</div>',
        name=endpoint.name,
        url=endpoint.url,
        status=draw_status(endpoint.status),
        filters=join(map(draw_event, endpoint.event_filters), html(", ")),
        reason=f"; disabled, because {reason}" if reason else "",
    )


def _draw_list(found: EndpointDeliveries, endpoint: WebhookEndpointHandle) -> Markup:
    if not found.deliveries:
        return widgets.empty("No delivery yet", "The next event that matches its filters is delivered to it.")
    obstacle = "" if endpoint.status == "active" else _DISABLED
    resend = TableColumn("Resend it", "right", is_spoken_only=True)
    return widgets.table(
        [*_HEADINGS, *([resend] if found.may_write else [])],
        [
            [*_draw_delivery(each, found.now), *([_draw_button(each, obstacle)] if found.may_write else [])]
            for each in found.deliveries
        ],
        caption="Deliveries",
        keys=[str(each.id) for each in found.deliveries],
    )


def _draw_more(found: EndpointDeliveries, state: IssuerState) -> Markup:
    """Draw the button that lists more, up to the most that the pane lists; a download has all of them."""
    longer = next((number for number in sorted(LISTED) if number > state.listed), 0)
    if not found.has_more or not longer:
        return NOTHING
    return html('<div class="chips">{more}</div>', more=widgets.button(f"Show {longer}", ev="listed", v=str(longer)))


def _draw_delivery(delivery: WebhookDeliveryHandle, now: datetime) -> list[Markup]:
    following = (
        html("<br>next attempt {when}", when=time_tag(delivery.next_attempt_at, now))
        if delivery.next_attempt_at
        else NOTHING
    )
    attempts = join((_draw_attempt(each, now) for each in delivery.attempts), html("<br>"))
    return [
        html(
            "<b>{type}</b>{kind}",
            type=draw_event(delivery.event_type),
            kind=" · test" if delivery.test else " · sent again" if delivery.manual else "",
        ),
        draw_status(delivery.status),
        html('<span class="muted">{attempts}{following}</span>', attempts=attempts, following=following),
        time_tag(delivery.created_at, now),
    ]


def _draw_button(delivery: WebhookDeliveryHandle, obstacle: str) -> Markup:
    return widgets.button("Resend", ev="ask", v=f"{RESEND}:{delivery.id}", disabled_because=obstacle)


def _draw_attempt(attempt: WebhookAttemptOut, now: datetime) -> Markup:
    excerpt = html(": <code>{text}</code>", text=attempt.response_excerpt) if attempt.response_excerpt else NOTHING
    outcome = f"status {attempt.http_status}" if attempt.http_status else attempt.error or "no response"
    return html(
        "{number}: {outcome} after {ms} ms, {when}{excerpt}",
        number=attempt.number,
        when=time_tag(attempt.at, now),
        outcome=outcome,
        ms=f"{attempt.response_time_ms:,}",
        excerpt=excerpt,
    )


PANE: Final = Pane(
    key="deliveries",
    question="Webhooks",
    reading=write_reading,
    load=load_deliveries,
    draw=draw_deliveries,
    reads=("endpoint", "listed"),
    scope=Scope.ISSUERS_READ.value,
    copy_sql=write_attempts_sql,
    export=export_attempts,
)
