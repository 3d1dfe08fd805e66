"""Open requests: what each one changes, for how many attestations, and who may approve, reject or execute it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import plural, time_tag
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.viewer import Viewer, read_viewer, read_viewer_with_names
from attestlab_dashboards.issuers.words import draw_status, write_request
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

OPEN: Final = ("APPROVED", "PENDING")  # approved ones first: they wait for one click
NAMES_SQL: Final = "SELECT id, name FROM issuers WHERE list_contains($ids, id)"


class OpenRequests(NamedTuple):
    """The open requests with the names of their issuers; `are_visible` is false for a person who may not see them."""

    now: datetime
    viewer: Viewer
    requests: tuple[IssuerRequestHandle, ...]
    names: dict[str, str]
    are_visible: bool = True


def load_open_requests(lab: Lab, _state: IssuerState) -> OpenRequests:
    """Load the requests that wait for an approval or for their execution."""
    viewer, now = read_viewer_with_names(lab), lab.now()
    try:
        found = [request for status in OPEN for request in lab.issuers.requests(status=status)]
    except PermissionDenied:
        return OpenRequests(now, viewer, (), {}, are_visible=False)
    mine_first = sorted(found, key=lambda request: not viewer.has_to_decide(request))
    return OpenRequests(now, viewer, tuple(mine_first), read_names(lab, {str(each.target_issuer_id) for each in found}))


def count_waiting(lab: Lab) -> int:
    """Count the requests that wait for the signed-in person to approve them or carry them out."""
    viewer = read_viewer(lab)
    if not viewer.may_decide:
        return 0
    return sum(viewer.has_to_decide(request) for status in OPEN for request in lab.issuers.requests(status=status))


def read_waiting(lab: Lab) -> dict[str, IssuerRequestHandle]:
    """Return the newest open request by issuer; none for a person who may not see requests."""
    try:
        found = [request for status in OPEN for request in lab.issuers.requests(status=status)]
    except PermissionDenied:
        return {}
    return {str(each.target_issuer_id): each for each in sorted(found, key=lambda request: request.created_at)}


def export_open_requests(lab: Lab, _state: IssuerState) -> Records[IssuerRequestHandle]:
    """Export the requests that are open.

    Raises:
        PermissionDenied: the person may not see them.
    """
    return Records((request for status in OPEN for request in lab.issuers.requests(status=status)), IssuerRequestHandle)


def write_requests_python(_state: IssuerState) -> str:
    """Write the calls of the facade that list them; without any, `IssuerRequest` has the columns."""
    return (
        f"requests = [each for status in {OPEN!r} for each in lab.issuers.requests(status=status)]\n"
        "[(each.type, each.target_issuer_id, each.status, each.reason) for each in requests]"
    )


def read_all_requests(lab: Lab) -> dict[str, IssuerRequestHandle]:
    """Return all requests by id; none for a person who may not see them."""
    try:
        return {str(request.id): request for request in lab.issuers.requests()}
    except PermissionDenied:
        return {}


def read_names(lab: Lab, ids: set[str]) -> dict[str, str]:
    """Return the names of the tenant's issuers by id; a platform reviewer's requests may be of other tenants."""
    if not ids:
        return {}
    return {str(row["id"]): str(row["name"]) for row in lab.sql(NAMES_SQL, {"ids": sorted(ids)})}


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


PANE: Final = Pane(
    key="requests",
    question="Waiting for a second person",
    reading="Changes of standing that were asked for and have no effect yet",
    load=load_open_requests,
    draw=draw_open_requests,
    reads=(),
    scope=Scope.ISSUERS_READ.value,
    copy_python=write_requests_python,
    export=export_open_requests,
)
