"""Every route of the HTTP interface has a verb in Python, or a reason why it has none."""

from __future__ import annotations

from pathlib import Path

import pytest

import attestlab
from attestlab.cli.async_types import list_verbs
from attestlab.cli.python_reference import NOUNS
from attestlab.client.lab import Lab
from attestlab.server.app import all_routes

PAGE = "a page for browsers, or a file of one"
OPEN_FORMAT = "a format of other software, which fetches it itself"
CONSUMERS = "people administrate access in the dashboards or by the command"
NOT_ASKED = "no analyst has asked for it; `httpx` calls it"
BLOG = "editors use HTTP, or the command `attestlab blog import`"
FORMS_OF_STRANGERS = ("reset-password", "signin", "signup", "verify-email")
ACCOUNT = "a person changes their account on its pages"
TRUST = "the facade has no trust and no compliance yet"
RUNS = "the facade has no runs of agents yet"
WITHOUT_VERB = {
    **dict.fromkeys(("GET /", "GET /a/{id}", "GET /a/{id}/badge.svg", "GET /assets/{name}", "GET /docs"), PAGE),
    **dict.fromkeys(("GET /favicon.ico", "GET /find", "GET /robots.txt", "GET /.well-known/security.txt"), PAGE),
    **dict.fromkeys(("POST /find", "GET /a/{id}/open-badge"), PAGE),
    **dict.fromkeys(("GET /invitations/accept", "POST /invitations/accept", "GET /a/{id}/bundle.json"), PAGE),
    **dict.fromkeys(("GET /billing/portal", "GET /billing/portal/change", "POST /billing/portal/change"), PAGE),
    "POST /billing/stripe/webhook": "Stripe alone can sign what it takes",
    **dict.fromkeys((f"GET /{page}" for page in ("inbox", "inbox/{id}", "protect", "settings", "u/{username}")), PAGE),
    **dict.fromkeys(("GET /inbox/{id}/record.json", "GET /inbox/{id}/sd-jwt"), PAGE),
    **dict.fromkeys((f"POST /{page}" for page in ("inbox/{id}", "protect", "settings", "signout")), PAGE),
    **dict.fromkeys((f"{method} /{page}" for method in ("GET", "POST") for page in FORMS_OF_STRANGERS), PAGE),
    **dict.fromkeys(("GET /blog", "GET /blog/{slug}", "GET /blog/media/{sha256}"), PAGE),
    **dict.fromkeys(("GET /blog/feed.xml", "GET /v1/blog/posts", "GET /v1/blog/posts/{slug}"), OPEN_FORMAT),
    **dict.fromkeys(("GET /v1/platform/blog/posts", "POST /v1/platform/blog/posts"), BLOG),
    **dict.fromkeys((f"{method} /v1/platform/blog/posts/{{id}}" for method in ("GET", "PUT", "DELETE")), BLOG),
    **dict.fromkeys((f"POST /v1/platform/blog/posts/{{id}}/{verb}" for verb in ("publish", "archive")), BLOG),
    "POST /v1/platform/blog/media": BLOG,
    **dict.fromkeys(("GET /.well-known/jwks.json", "GET /.well-known/jwt-vc-issuer"), OPEN_FORMAT),
    **dict.fromkeys(("GET /.well-known/jwt-vc-issuer/v1/issuers/{id}", "GET /log/checkpoint"), OPEN_FORMAT),
    **dict.fromkeys(("GET /log/checkpoint.witnessed", "GET /log/tile/{path...}"), OPEN_FORMAT),
    "GET /v1/agents/{id}/jwks.json": OPEN_FORMAT,
    **dict.fromkeys(("GET /v1/issuers/{id}/jwks.json", "GET /v1/issuers/{id}/keys/{kid}/jwk.json"), OPEN_FORMAT),
    **dict.fromkeys(("GET /v1/policies/simulations/jwks.json", "GET /v1/status-lists/{issuer_id}"), OPEN_FORMAT),
    **dict.fromkeys(("GET /v1/api-keys", "POST /v1/api-keys", "GET /v1/api-keys/{id}"), CONSUMERS),
    **dict.fromkeys(("POST /v1/api-keys/{id}/compromise", "POST /v1/api-keys/{id}/revoke"), CONSUMERS),
    **dict.fromkeys(("GET /v1/consumer/api-keys", "POST /v1/consumer/api-keys"), CONSUMERS),
    **dict.fromkeys(("POST /v1/consumer/api-keys/{id}/revoke", "POST /v1/auth/logout"), CONSUMERS),
    **dict.fromkeys(("POST /v1/auth/password/forgot", "POST /v1/auth/password/reset"), ACCOUNT),
    **dict.fromkeys(("POST /v1/consumer/signup", "POST /v1/consumer/verify-email"), ACCOUNT),
    **dict.fromkeys(("POST /v1/consumer/verify-email/resend", "GET /v1/consumer/me", "PATCH /v1/consumer/me"), ACCOUNT),
    **dict.fromkeys(
        ("PUT /v1/consumer/me/username", "POST /v1/consumer/me/delete", "POST /v1/consumer/emails"), ACCOUNT
    ),
    **dict.fromkeys((f"{method} /v1/consumer/emails/{{email}}" for method in ("PATCH", "DELETE")), ACCOUNT),
    "GET /v1/consumer/export": ACCOUNT,
    **dict.fromkeys(("POST /v1/users", "POST /v1/users/accept-invite", "DELETE /v1/users/{id}"), CONSUMERS),
    **dict.fromkeys(("PATCH /v1/users/{id}", "POST /v1/me/password", "GET /v1/orgs", "POST /v1/orgs"), CONSUMERS),
    **dict.fromkeys(("GET /v1/orgs/{id}", "PATCH /v1/orgs/{id}"), CONSUMERS),
    **dict.fromkeys(("GET /v1/consumer/inbox/{id}", "GET /v1/consumer/protections/{id}"), "an index, as below"),
    **dict.fromkeys(("GET /v1/attestation-packs", "POST /v1/attestation-packs"), NOT_ASKED),
    **dict.fromkeys(("GET /v1/attestation-packs/{id}", "GET /v1/attestations/{id}/delivery"), NOT_ASKED),
    **dict.fromkeys(("GET /v1/issuers/{id}/domain-proof", "POST /v1/issuers/{id}/domain-proof/check"), NOT_ASKED),
    **dict.fromkeys(
        ("GET /v1/issuers/{id}/logo", "PUT /v1/issuers/{id}/logo", "DELETE /v1/issuers/{id}/logo"), NOT_ASKED
    ),
    **dict.fromkeys(("GET /v1/verification-profiles", "POST /v1/verification-profiles"), NOT_ASKED),
    "GET /v1/verification-profiles/{id}": NOT_ASKED,
    "PUT /v1/policies/attributes": NOT_ASKED,
    **dict.fromkeys(("GET /v1/schemas", "GET /v1/schemas/{id}"), "the schemas are in the package"),
    "GET /v1/lake/datasets": "`columns` and docs/lake.md describe the data sets",
    "GET /v1/risk/signals/export": "`lab.signals.to_parquet`, `df` and `sql` read the data set",
    "GET /v1/risk/events": "`lab.sql` reads the data set `raw_events`",
    "GET /v1/policies/simulations/{digest}": "`simulate` returns the report",
    "GET /v1/governance/issuer-requests/{id}": "`lab.issuers.requests` lists them",
    "GET /v1/risk/cases/{id}": "an index: `lab.cases[id]`",
    "GET /v1/billing/invoices/{id}": "an index, as above",
    **dict.fromkeys(("GET /v1/attestations/{id}", "GET /v1/issuers/{id}", "GET /v1/users/{id}"), "an index, as above"),
    "GET /v1/receipt-types/{name}": "an index, as above",
    "GET /v1/receipts/{id}": "an index, as above",
    **dict.fromkeys(("GET /v1/receipts/export", "POST /v1/receipts/search"), NOT_ASKED),
    **dict.fromkeys(("GET /v1/risk/signals/{id}", "GET /v1/webhooks/endpoints/{id}"), "an index, as above"),
    "POST /v1/auth/refresh": "a session renews itself (`lab.as_`)",
    **dict.fromkeys(("GET /v1/agents/{id}", "GET /v1/agent-sessions/{id}"), "an index, as above"),
    "GET /v1/delegations/{id}": "an index, as above",
    "POST /v1/agents/challenges": "`register` and `rotate` ask for it when they get a key",
    **dict.fromkeys((f"{method} /v1/orchestrations" for method in ("GET", "POST")), RUNS),
    "GET /v1/orchestrations/{id}": RUNS,
    **dict.fromkeys((f"POST /v1/orchestrations/{{id}}/{verb}" for verb in ("steps", "complete")), RUNS),
    **dict.fromkeys((f"GET /v1/agents/{{id}}/trust{what}" for what in ("", "/history")), TRUST),
    **dict.fromkeys((f"{method} /v1/compliance/checks" for method in ("GET", "POST")), TRUST),
    "GET /v1/compliance/checks/{id}": TRUST,
    "GET /v1/witness/requests/{id}": "an index, as above",
}
VERBS = {
    "GET /v1/agents": "agents.list",
    "POST /v1/agents": "agents.register",
    "PATCH /v1/agents/{id}": "agents.update",
    "GET /v1/agents/review": "agents.review",
    "GET /v1/agents/{id}/card": "agents.card",
    "PUT /v1/agents/{id}/card/signature": "AgentHandle.sign_card",
    "GET /v1/agents/{id}/tree": "AgentHandle.tree",
    "GET /v1/agents/{id}/delegations": "AgentHandle.delegations",
    "POST /v1/agents/{id}/delegations": "AgentHandle.delegate",
    "GET /v1/agents/{id}/keys": "agents.keys",
    "POST /v1/agents/{id}/keys/rotate": "AgentHandle.rotate",
    "POST /v1/agents/{id}/keys/{kid}/compromise": "agents.compromise_key",
    "POST /v1/agents/{id}/kill": "agents.kill",
    "POST /v1/agents/{id}/resume": "AgentHandle.resume",
    "POST /v1/agents/{id}/revoke": "AgentHandle.revoke",
    "POST /v1/agents/{id}/sign": "AgentHandle.sign",
    "POST /v1/agents/{id}/suspend": "AgentHandle.suspend",
    "GET /v1/agent-sessions": "agent_sessions.list",
    "POST /v1/agent-sessions": "AgentHandle.session",
    "POST /v1/agent-sessions/introspect": "agent_sessions.introspect",
    "POST /v1/agent-sessions/{id}/refresh": "agent_sessions.refresh",
    "POST /v1/agent-sessions/{id}/terminate": "agent_sessions.terminate",
    "GET /v1/delegations/revocations": "delegations.revocations",
    "POST /v1/delegations/verify": "delegations.verify",
    "GET /v1/delegations/{id}/biscuit": "delegations.biscuit",
    "GET /v1/delegations/{id}/proof-bundle": "delegations.proof",
    "POST /v1/delegations/{id}/revoke": "delegations.revoke",
    "GET /v1/witness/requests": "witness.list",
    "POST /v1/witness/requests": "witness.ask",
    "POST /v1/witness/requests/{id}/attest": "witness.vote",
    "GET /v1/witness/requests/{id}/consensus": "witness.consensus",
    "GET /v1/attestations": "attestations.list",
    "POST /v1/attestations/batch": "attestations.mint_many",
    "POST /v1/attestations/mint": "mint",
    "GET /v1/attestations/{id}/proof-bundle": "attestations.bundle",
    "GET /v1/attestations/{id}/open-badge": "attestations.badge",
    "GET /v1/attestations/{id}/sd-jwt": "AttestationHandle.sd_jwt",
    "POST /v1/attestations/{id}/revoke": "attestations.revoke",
    "POST /v1/attestations/{id}/supersede": "attestations.supersede",
    "GET /v1/audit/events": "audit.list",
    "POST /v1/auth/login": "as_",
    "GET /v1/billing/addons": "billing.addons",
    "POST /v1/billing/addons/attach": "billing.attach",
    "POST /v1/billing/addons/detach": "billing.detach",
    "GET /v1/billing/entitlements": "billing.entitlements",
    "GET /v1/billing/invoices": "billing.list",
    "GET /v1/billing/invoices/preview": "billing.preview_invoice",
    "GET /v1/billing/plans": "billing.plans",
    "POST /v1/billing/portal": "billing.portal",
    "GET /v1/billing/subscription": "billing.subscription",
    "POST /v1/billing/subscription": "billing.change",
    "POST /v1/billing/subscription/preview": "billing.preview",
    "GET /v1/billing/usage": "billing.usage",
    "GET /v1/consumer/inbox": "inbox.list",
    "POST /v1/consumer/inbox/deliver": "attestations.deliver",
    "PATCH /v1/consumer/inbox/{id}": "inbox.mark",
    "POST /v1/consumer/inbox/{id}/decline": "inbox.decline",
    "GET /v1/consumer/portfolio/{username}": "portfolio",
    "GET /v1/consumer/protections": "protections.list",
    "POST /v1/consumer/protections": "protect",
    "PATCH /v1/consumer/protections/{id}": "protections.update",
    "DELETE /v1/consumer/protections/{id}": "protections.remove",
    "POST /v1/consumer/protections/{id}/revoke": "protections.revoke",
    "GET /v1/consumer/protections/{id}/verifications": "protections.verification_days",
    "GET /v1/governance/issuer-requests": "issuers.requests",
    "POST /v1/governance/issuer-requests": "issuers.request",
    "POST /v1/governance/issuer-requests/{id}/approve": "issuers.approve",
    "POST /v1/governance/issuer-requests/{id}/execute": "issuers.execute",
    "POST /v1/governance/issuer-requests/{id}/reject": "issuers.reject",
    "GET /v1/issuers": "issuers.list",
    "POST /v1/issuers": "issuers.create",
    "POST /v1/issuers/keys/{kid}/compromise": "issuers.compromise_key",
    "POST /v1/issuers/keys/{kid}/revoke": "issuers.revoke_key",
    "POST /v1/issuers/keys/{kid}/rotate": "issuers.rotate_key",
    "PATCH /v1/issuers/{id}": "issuers.update",
    "GET /v1/issuers/{id}/blast-radius": "issuers.blast_radius",
    "GET /v1/issuers/{id}/keys": "issuers.keys",
    "POST /v1/issuers/{id}/keys": "issuers.add_key",
    "GET /v1/lake/datasets/{name}": "signals.df",
    "POST /v1/lake/query": "sql",
    "GET /v1/log/checkpoints": "log.checkpoints",
    "GET /v1/log/consistency": "log.consistency",
    "GET /v1/log/entries": "log.entry",
    "GET /v1/log/head": "log.head",
    "GET /v1/log/lookup": "log.lookup",
    "GET /v1/log/proofs/{index}": "log.proof",
    "GET /v1/log/vkey": "log.vkey",
    "GET /v1/me": "me",
    "POST /v1/open-badges/verify": "verify",
    "GET /v1/policies": "policies.list",
    "POST /v1/policies": "policies.create",
    "POST /v1/policies/analyze": "policies.analyze",
    "GET /v1/policies/attributes": "policies.attributes",
    "GET /v1/policies/decisions/{id}": "policies.explain",
    "POST /v1/policies/evaluate": "policies.evaluate",
    "POST /v1/policies/simulate": "policies.simulate",
    "GET /v1/policies/{id}": "policies.get",
    "PUT /v1/policies/{id}": "policies.update",
    "POST /v1/policies/{id}/activate": "policies.activate",
    "POST /v1/policies/{id}/archive": "policies.archive",
    "POST /v1/policies/{id}/shadow": "policies.shadow",
    "GET /v1/policies/{id}/versions": "PolicyHandle.versions",
    "GET /v1/policies/{id}/versions/{version}": "VersionHandle.read_document",
    "GET /v1/receipt-types": "receipt_types.list",
    "POST /v1/receipt-types": "receipt_types.create",
    "GET /v1/receipts": "receipts.list",
    "POST /v1/receipts": "receipts.mint",
    "POST /v1/receipts/verify": "receipts.verify",
    "GET /v1/receipts/{id}/proof-bundle": "receipts.bundle",
    "POST /v1/receipts/{id}/revoke": "receipts.revoke",
    "POST /v1/receipts/{id}/redact": "receipts.redact",
    "POST /v1/receipt-types/{name}/deprecate": "receipt_types.deprecate",
    "POST /v1/risk/ato/evaluate": "signals.evaluate_login",
    "GET /v1/risk/cases": "cases.list",
    "POST /v1/risk/cases/{id}/resolve": "cases.resolve",
    "POST /v1/risk/challenge": "challenges.create",
    "GET /v1/risk/challenges": "challenges.list",
    "POST /v1/risk/deepfake/scan": "signals.scan",
    "GET /v1/risk/drift": "signals.drift",
    "GET /v1/risk/entities/{type}/{id}": "signals.entity",
    "GET /v1/risk/entities/{type}/{id}/graph": "signals.graph",
    "POST /v1/risk/events": "signals.record_event",
    "POST /v1/risk/events/normalize": "signals.normalize",
    "GET /v1/risk/lists": "lists.list",
    "POST /v1/risk/lists": "lists.add",
    "DELETE /v1/risk/lists/{id}": "lists.remove",
    "GET /v1/risk/mappings": "signals.mapping",
    "PUT /v1/risk/mappings": "signals.change_mapping",
    "GET /v1/risk/settings": "signals.settings",
    "PUT /v1/risk/settings": "signals.change_settings",
    "GET /v1/risk/signals": "signals.list",
    "POST /v1/risk/signals": "signals.add",
    "POST /v1/risk/signals/bulk": "signals.add_many",
    "GET /v1/risk/ato/backfill": "signals.backfill_logins",
    "POST /v1/risk/ato/backfill": "signals.backfill_logins",
    "POST /v1/risk/simulate": "signals.simulate",
    "GET /v1/risk/sources": "signals.sources",
    "POST /v1/risk/velocity/record": "signals.record_velocity",
    "GET /v1/users": "people.list",
    "POST /v1/verify": "verify",
    "POST /v1/webhooks/deliveries/{id}/resend": "webhooks.resend",
    "GET /v1/webhooks/endpoints": "webhooks.list",
    "POST /v1/webhooks/endpoints": "webhooks.create",
    "DELETE /v1/webhooks/endpoints/{id}": "webhooks.delete",
    "PATCH /v1/webhooks/endpoints/{id}": "webhooks.update",
    "GET /v1/webhooks/endpoints/{id}/deliveries": "webhooks.deliveries",
    "POST /v1/webhooks/endpoints/{id}/recover": "webhooks.recover",
    "POST /v1/webhooks/endpoints/{id}/rotate": "webhooks.rotate",
    "GET /v1/webhooks/event-types": "webhooks.event_types",
    "GET /v1/webhooks/events": "webhooks.events",
    "POST /v1/webhooks/test-delivery": "webhooks.test",
}
CLIENT = Path(attestlab.__file__).parent / "client"


def test_every_route_has_a_verb_or_a_reason() -> None:
    routes = {f"{route.method} {route.path}" for route in all_routes()}

    assert VERBS.keys() & WITHOUT_VERB.keys() == set()
    assert routes - VERBS.keys() - WITHOUT_VERB.keys() == set()
    assert (VERBS.keys() | WITHOUT_VERB.keys()) - routes == set()


@pytest.mark.parametrize("verb", [verb for verb in VERBS.values() if "Handle" not in verb])
def test_a_verb_of_a_route_exists(verb: str) -> None:
    noun, _, name = verb.rpartition(".")

    assert name in list_verbs(NOUNS[noun] if noun else Lab)


def test_the_facade_names_every_part_of_the_routes_with_a_verb() -> None:
    source = "\n".join(path.read_text() for path in CLIENT.rglob("*.py"))
    parts = {part for route in VERBS for part in route.partition(" ")[2].split("/") if part and part[0] != "{"}

    assert [part for part in sorted(parts) if part not in source] == []
