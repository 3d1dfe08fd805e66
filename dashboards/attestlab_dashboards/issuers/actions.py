"""The writes of the page. Each passes what the form sent to a verb of the facade, which checks it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Scope
from attestlab_dashboards.formats import plural
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.pages import Action, Notice, read_field
from attestlab_dashboards.reducers import close_question
from attestlab_dashboards.safe import html

Fields = Mapping[str, str]


def request_change(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Ask for a change of an issuer's standing."""
    kind, target = read_field(fields, "type"), fields.get("target") or None
    request = lab.issuers.request(
        kind,
        read_field(fields, "issuer"),
        read_field(fields, "reason"),
        new_trust_tier=target if kind == "CHANGE_TRUST_TIER" else None,
        new_risk_rating=target if kind == "CHANGE_RISK_RATING" else None,
    )
    text = html(
        "<b>Your request is sent.</b> It concerns {impact}; nothing has changed yet. Next: {needed} by other people.",
        impact=plural(request.impact.valid, "valid attestation"),
        needed=plural(request.approvals_needed, "approval"),
    )
    return _close_dialog(state, text)


def register(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Register an issuer, and open its drawer."""
    profile = {name: text for name in ("legal_name", "jurisdiction") if (text := fields.get(name, "").strip())}
    alg, kid = fields.get("alg") or None, fields.get("kid", "").strip() or None
    if kid is not None and alg is None:
        message = "A kid names the first key, and none is made. Choose an algorithm, or leave the kid empty."
        raise ValidationFailed.of("/kid", "needs_alg", message)
    issuer = lab.issuers.create(read_field(fields, "name"), read_field(fields, "domain"), alg=alg, kid=kid, **profile)
    next_step = "prove its domain, or ask for another tier" if issuer.keys else "add a key, so that it can mint"
    text = html("<b>Added {name}.</b> Next: {next}.", name=issuer.name, next=next_step)
    return Notice(text, close_question(state).change(issuer=str(issuer.id)))


def approve(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Approve a request."""
    request = lab.issuers.approve(read_field(fields, "request"))
    missing = request.approvals_needed - len(request.approvals)
    next_step = "An owner or admin can execute it." if missing <= 0 else f"It needs {plural(missing, 'more approval')}."
    return _close_dialog(state, html("<b>Approved.</b> Next: {next}", next=next_step))


def reject(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Reject a request."""
    lab.issuers.reject(read_field(fields, "request"), read_field(fields, "reason"))
    return _close_dialog(state, html("<b>Rejected.</b> Nothing changes; it stays in the audit feed with its reason."))


def execute(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Execute a request."""
    request: IssuerRequestHandle = lab.issuers.execute(read_field(fields, "request"))
    text = html(
        "<b>Executed.</b> It concerns {impact}. The change is entry {index} of the log.",
        impact=plural(request.impact.valid, "valid attestation"),
        index=f"{request.log_index or 0:,}",
    )
    return _close_dialog(state, text)


def rotate(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Rotate a key."""
    made = lab.issuers.rotate_key(read_field(fields, "kid"))
    text = html("<b>Rotated.</b> {new} signs from now on; {old} stays to verify.", new=made.new_kid, old=made.old_kid)
    return _close_dialog(state, text)


def revoke_key(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Revoke a key."""
    key = lab.issuers.revoke_key(read_field(fields, "kid"), read_field(fields, "reason"))
    affected = plural(key.affected_attestations, "attestation")
    return _close_dialog(
        state, html("<b>Revoked.</b> {kid} signed {affected}, which keep a flag.", kid=key.kid, affected=affected)
    )


def report_loss(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Report a key as lost."""
    since = _read_moment(fields.get("since", ""))
    key = lab.issuers.compromise_key(read_field(fields, "kid"), read_field(fields, "reason"), compromised_at=since)
    affected = plural(key.affected_attestations, "attestation")
    text = html("<b>Reported.</b> {kid} signed {affected}. Next: add a new key.", kid=key.kid, affected=affected)
    return _close_dialog(state, text)


def resend(lab: Lab, state: IssuerState, fields: Fields) -> Notice:
    """Deliver an event to its endpoint again."""
    made = lab.webhooks.resend(read_field(fields, "delivery"))
    text = html("<b>Enqueued.</b> {type} is delivered again. Next: its first attempt.", type=made.event_type)
    return _close_dialog(state, text)


def _close_dialog(state: IssuerState, text: Markup) -> Notice:
    return Notice(text, close_question(state))


def _read_moment(text: str) -> datetime | None:
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValidationFailed.of("/since", "time", "This is no time. Enter one like 2026-11-02T12:00.") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _act(scope: Scope, run: Callable[[Lab, IssuerState, Fields], Notice]) -> Action[IssuerState]:
    return Action(scope=scope.value, run=run)


# Some need a role besides the scope, which the service checks: reviewers approve with `issuers:read` alone.
ACTIONS: Final[Mapping[str, Action[IssuerState]]] = {
    "register": _act(Scope.ISSUERS_WRITE, register),
    "request": _act(Scope.ISSUERS_WRITE, request_change),
    "approve": _act(Scope.ISSUERS_READ, approve),
    "reject": _act(Scope.ISSUERS_READ, reject),
    "execute": _act(Scope.ISSUERS_WRITE, execute),
    "rotate": _act(Scope.ISSUERS_WRITE, rotate),
    "revoke_key": _act(Scope.ISSUERS_WRITE, revoke_key),
    "resend": _act(Scope.WEBHOOKS_WRITE, resend),
    "lose": _act(Scope.ISSUERS_WRITE, report_loss),
}
