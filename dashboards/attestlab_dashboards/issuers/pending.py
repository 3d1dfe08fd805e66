"""Open requests: what each one changes, for how many attestations, and who may approve, reject or execute it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from markupsafe import Markup

from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import time_tag
from attestlab_dashboards.issuers.queries.requests import OpenRequests
from attestlab_dashboards.issuers.queries.viewer import Viewer
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.words import draw_status, plural, write_request
from attestlab_dashboards.safe import NOTHING, html, join


def draw_open_requests(open_requests: OpenRequests, _state: IssuerState) -> Markup:
    """Draw all open requests."""
    if not open_requests.are_visible:
        return widgets.state(
            "lock",
            "",
            "Your role does not see requests",
            html("Requests are shown to owners, admins, analysts and reviewers."),
        )
    if not open_requests.requests:
        return widgets.empty("Nothing waits", "A change of an issuer's standing waits here for its second person.")
    return draw_requests(open_requests.requests, open_requests.names, open_requests.viewer, open_requests.now)


def draw_requests(
    requests: tuple[IssuerRequestHandle, ...], names: Mapping[str, str], viewer: Viewer, now: datetime
) -> Markup:
    """Draw requests as a list with their buttons."""
    items = join(_draw_request(request, names, viewer, now) for request in requests)
    return html('<ul class="is-requests">{items}</ul>', items=items)


def _draw_request(request: IssuerRequestHandle, names: Mapping[str, str], viewer: Viewer, now: datetime) -> Markup:
    issuer_id = str(request.target_issuer_id)
    name = names.get(issuer_id, f"an issuer of another tenant (…{issuer_id[-6:]})")
    wish = write_request(request.type, name, request.new_trust_tier or request.new_risk_rating)
    return html(
        '<li><div class="is-wish"><span class="is-first">{wish}</span>{status}</div>'
        '<div class="sub">“{reason}” · {who}, {when}</div>'
        '<div class="sub">concerns {impact}; {given} of {needed}</div><div class="chips">{buttons}</div></li>',
        wish=wish,
        status=draw_status(request.status),
        reason=request.reason,
        who=viewer.name_person(request.requested_by),
        when=time_tag(request.created_at, now),
        impact=plural(request.impact.valid, "valid attestation"),
        given=len(request.approvals),
        needed=plural(request.approvals_needed, "approval"),
        buttons=_draw_buttons(request, viewer),
    )


def _draw_buttons(request: IssuerRequestHandle, viewer: Viewer) -> Markup:
    is_pending = request.status == "PENDING"
    approve, reject = viewer.find_approval_obstacle(request), viewer.find_rejection_obstacle(request)
    is_own_tenant = request.tenant_id == viewer.caller.tenant_id
    buttons = []
    if is_pending and viewer.may_decide:
        buttons.append(_button("Approve", "approve", request, disabled_because=approve, primary=not approve))
    if not is_pending and viewer.may_request and is_own_tenant:
        buttons.append(_button("Execute", "execute", request, primary=True))
    if viewer.may_decide:
        label = "Withdraw" if request.requested_by == viewer.id else "Reject"
        buttons.append(_button(label, "reject", request, disabled_because=reject))
    return join(buttons) if buttons else NOTHING


def _button(
    label: str, ask: str, request: IssuerRequestHandle, *, disabled_because: str = "", primary: bool = False
) -> Markup:
    return widgets.button(label, ev="ask", v=f"{ask}:{request.id}", disabled_because=disabled_because, primary=primary)
