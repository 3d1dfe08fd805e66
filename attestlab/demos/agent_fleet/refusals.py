"""Refused requests of the demo's agents, by the service's own rules; no request is sent."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attestlab.agents.observability.anomalies import watch_denied
from attestlab.attestations.routes import routes as attestation_routes
from attestlab.audit import trail
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import PermissionDenied
from attestlab.issuers.routes import routes as issuer_routes
from attestlab.orgs.rules import Caller
from attestlab.policy.routes import routes as policy_routes
from attestlab.risk.signals.routes import routes as signal_routes
from attestlab.web.application import generate_request_id
from attestlab.web.request import Request
from attestlab.web.routing.routes import Route
from attestlab.webhooks.routes import routes as webhook_routes

WANTED: Final = ("/v1/attestations", "/v1/issuers", "/v1/policies", "/v1/risk/signals", "/v1/webhooks/endpoints")
"""What an agent that probes asks for, by turns; each needs another scope."""
_LISTS: Final[dict[str, Route]] = {
    route.path: route
    for routes in (attestation_routes, issuer_routes, policy_routes, signal_routes, webhook_routes)
    for route in routes
    if route.method == "GET" and route.path in WANTED
}
_ADDRESS: Final = "192.0.2.44"  # RFC 5737: of documentation


def ask_in_vain(tx: Transaction, path: str, caller: Caller, *, at: datetime) -> None:
    """Let a list's route refuse an agent that lacks its scope, and record that as a server does."""
    route = _LISTS[path]
    assert route.needs is not None, "a public route refuses no one"
    request = Request.without_connection(route, peer=_ADDRESS, request_id=generate_request_id(), now=at)
    request.caller = caller
    try:
        route.needs.require(caller)
    except PermissionDenied as error:
        trail.record_denied(tx, request, error)
        watch_denied(tx, caller, error, at=at)
    else:
        raise AssertionError(f"the agent may read {path}")
