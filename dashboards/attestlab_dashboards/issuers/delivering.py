"""Deliveries of webhooks: the endpoints, each delivery with its attempts, and the dialog that resends one."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from markupsafe import Markup

from attestlab.client.handles.webhooks import WebhookDeliveryHandle, WebhookEndpointHandle
from attestlab.webhooks.delivery_shapes import WebhookAttemptOut
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import time_tag
from attestlab_dashboards.issuers.queries.deliveries import MAX_DELIVERIES, EndpointDeliveries, ResendQuestion
from attestlab_dashboards.issuers.state import RESEND, IssuerState
from attestlab_dashboards.issuers.words import draw_status
from attestlab_dashboards.safe import NOTHING, html, join

_DISABLED: Final = "The endpoint is disabled, so nothing is delivered to it."
_REASONS: Final = {
    "gone": "it answered 410, so it asked for no more",
    "failing": "it failed for five days",
    "requested": "a member disabled it",
}


def write_reading(found: EndpointDeliveries, _state: IssuerState) -> str:
    """Write which deliveries these are."""
    if found.endpoint is None:
        return "Events that are sent to your servers"
    return f"The newest {MAX_DELIVERIES} deliveries to {found.endpoint.name}, each with its attempts"


def draw_deliveries(found: EndpointDeliveries, _state: IssuerState) -> Markup:
    """Draw the endpoints to choose from, and the deliveries to one."""
    if not found.is_visible:
        return widgets.state("lock", "", "For members", html("Deliveries are shown to members of the tenant."))
    if found.endpoint is None:
        why = html(
            "No server receives events yet. Create an endpoint: {code}.",
            code=html("<code>lab.webhooks.create(url, events)</code>"),
        )
        return widgets.empty("No endpoint", why)
    return join([_draw_choice(found), _draw_endpoint(found.endpoint), _draw_list(found, found.endpoint)])


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
        title=f"Resend {question.delivery.event_type}",
        name=question.endpoint.name,
        url=question.endpoint.url,
        id=str(question.delivery.id),
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
        filters=", ".join(endpoint.event_filters),
        reason=f"; disabled, because {reason}" if reason else "",
    )


def _draw_list(found: EndpointDeliveries, endpoint: WebhookEndpointHandle) -> Markup:
    if not found.deliveries:
        return widgets.empty("No delivery yet", "The next event that matches its filters is delivered to it.")
    obstacle = "" if endpoint.status == "active" else _DISABLED
    items = join(
        _draw_delivery(each, found.now, may_write=found.may_write, obstacle=obstacle) for each in found.deliveries
    )
    return html('<ul class="is-requests">{items}</ul>', items=items)


def _draw_delivery(delivery: WebhookDeliveryHandle, now: datetime, *, may_write: bool, obstacle: str) -> Markup:
    button = widgets.button("Resend", ev="ask", v=f"{RESEND}:{delivery.id}", disabled_because=obstacle)
    following = (
        html(" · next attempt {when}", when=time_tag(delivery.next_attempt_at, now))
        if (delivery.next_attempt_at)
        else NOTHING
    )
    return html(
        '<li><div class="is-wish"><b>{type}</b>{status}</div><div class="sub">{when}{kind}{following}</div>{attempts}'
        '<div class="chips">{button}</div></li>',
        type=delivery.event_type,
        status=draw_status(delivery.status),
        when=time_tag(delivery.created_at, now),
        kind=" · test" if delivery.test else " · sent again" if delivery.manual else "",
        following=following,
        attempts=join(_draw_attempt(each, now) for each in delivery.attempts),
        button=button if may_write else NOTHING,
    )


def _draw_attempt(attempt: WebhookAttemptOut, now: datetime) -> Markup:
    excerpt = html(": <code>{text}</code>", text=attempt.response_excerpt) if attempt.response_excerpt else NOTHING
    outcome = f"status {attempt.http_status}" if attempt.http_status else attempt.error or "no response"
    return html(
        '<div class="sub">Attempt {number}, {when}: {outcome} after {ms} ms{excerpt}</div>',
        number=attempt.number,
        when=time_tag(attempt.at, now),
        outcome=outcome,
        ms=f"{attempt.response_time_ms:,}",
        excerpt=excerpt,
    )
