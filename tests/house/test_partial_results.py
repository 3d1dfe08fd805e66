"""Every verb that handles many things says which of them it has done: in Python, over HTTP and on the command line.

A new verb, route or command needs a line here: what it answers when a part of its work fails, or a limit cuts it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, get_args, get_origin

import typer
from pydantic import BaseModel

from attestlab.cli import commands
from attestlab.cli.python_reference import list_public_verbs
from attestlab.server.app import all_routes
from attestlab.web.response import StreamedResponse
from attestlab.web.routing.routes import Route


class Kind(Enum):
    """What is true when a part of the work fails, or a limit cuts it."""

    PAGE = "the answer says where the rest begins"
    TOTAL = "the answer counts all that match, so the rest begins after the offset and what it has"
    CUT = "`truncated` says that a limit left something out"
    SAMPLE = "examples by definition; counts of all are next to them"
    BOUNDED = "all of a set whose size was bounded when it was written"
    WHOLE = "all or nothing: one transaction, or an error instead of a part"
    EACH = "each item has its result or its own error"
    COUNTED = "counts of what was done and what was left out; an error names what was done before it"
    STREAM = "an answer that breaks off is an error: the connection, or the missing mark of the end"
    FILE = "a file takes its name when it is whole"


# Members that are parts of one object, and always whole.
PARTS = {
    *("addons", "approvals", "attempts", "by", "diagnostics", "effects", "event_filters", "factors", "hashes", "keys"),
    *("audience", "chain", "denied_scopes", "effective_scopes", "lines", "matched_rules"),
    *(
        "reasons",
        "return_origins",
        "revocation_ids",
        "roles",
        "rules",
        "scopes",
        "tags",
        "tests",
        "truncated",
        "warnings",
    ),
}
LISTS = {
    "GET /v1/attestations/{id}/delivery": {"items": Kind.BOUNDED},
    "GET /v1/consumer/portfolio/{username}": {"protections": Kind.PAGE},
    "GET /v1/consumer/protections/{id}/verifications": {"items": Kind.BOUNDED},
    "GET /v1/consumer/export": {"sessions": Kind.WHOLE, "api_keys": Kind.WHOLE},
    "GET /v1/consumer/me": {"emails": Kind.BOUNDED},
    "GET /v1/issuers/{id}/blast-radius": {
        "by_recipient": Kind.CUT,
        "by_schema": Kind.BOUNDED,
        "by_month": Kind.BOUNDED,
    },
    "GET /v1/billing/addons": {"items": Kind.BOUNDED},
    "GET /v1/billing/plans": {"items": Kind.BOUNDED},
    "GET /v1/billing/usage": {"items": Kind.BOUNDED, "daily": Kind.BOUNDED},
    "GET /v1/delegations/revocations": {"items": Kind.PAGE},
    "GET /v1/lake/datasets": {"items": Kind.BOUNDED},
    "GET /v1/lake/datasets/{name}": {"columns": Kind.BOUNDED, "rows": Kind.CUT},
    "GET /v1/log/entries": {"items": Kind.PAGE},
    "GET /v1/agents/{id}/tree": {"nodes": Kind.CUT, "edges": Kind.CUT},
    "GET /v1/witness/requests/{id}/consensus": {"votes": Kind.BOUNDED},
    "GET /v1/observability/metrics": {"buckets": Kind.BOUNDED},
    "POST /v1/observability/events/bulk": {"rejected": Kind.COUNTED},
    "GET /v1/orchestrations/{id}": {"steps": Kind.BOUNDED},
    "GET /v1/orchestrations/{id}/proof-bundle": {"steps": Kind.BOUNDED},
    "GET /v1/agents/{id}/trust": {"components": Kind.BOUNDED, "penalties": Kind.BOUNDED},
    "GET /v1/compliance/checks/{id}": {"findings": Kind.BOUNDED, "left_out": Kind.BOUNDED},
    "POST /v1/compliance/checks": {"findings": Kind.BOUNDED, "left_out": Kind.BOUNDED},
    "GET /v1/orgs": {"": Kind.PAGE},
    "GET /v1/policies/attributes": {"items": Kind.BOUNDED},
    "GET /v1/policies/decisions/{id}": {"policies": Kind.BOUNDED},
    "GET /v1/risk/drift": {"items": Kind.CUT},
    "GET /v1/risk/entities/{type}/{id}": {"signals": Kind.CUT, "cases": Kind.CUT, "lists": Kind.BOUNDED},
    "GET /v1/risk/entities/{type}/{id}/graph": dict.fromkeys(("nodes", "edges", "rings"), Kind.CUT),
    "GET /v1/risk/mappings": {"items": Kind.BOUNDED},
    "GET /v1/search": {"items": Kind.CUT},
    "GET /v1/webhooks/event-types": {"items": Kind.BOUNDED},
    "GET /v1/webhooks/events": {"items": Kind.PAGE},
    "GET /v1/risk/cases/groups": {"items": Kind.CUT},
    "GET /v1/risk/cases/{id}": {"comments": Kind.BOUNDED},
    "PATCH /v1/risk/cases/{id}": {"comments": Kind.BOUNDED},
    "POST /v1/risk/cases/{id}/resolve": {"comments": Kind.BOUNDED},
    "POST /v1/attestations/batch": {"items": Kind.EACH},
    "POST /v1/lake/query": {"columns": Kind.BOUNDED, "rows": Kind.CUT},
    "POST /v1/risk/cases/reopen": {"items": Kind.EACH},
    "POST /v1/risk/cases/resolve": {"items": Kind.EACH},
    "POST /v1/orchestrations": {"steps": Kind.BOUNDED},
    "POST /v1/orchestrations/{id}/complete": {"steps": Kind.BOUNDED},
    "POST /v1/orchestrations/{id}/steps": {"depends_on": Kind.BOUNDED},
    "POST /v1/policies/analyze": {"findings": Kind.BOUNDED},
    "POST /v1/policies/simulate": {
        **dict.fromkeys(("flips", "why", "groups"), Kind.CUT),
        **dict.fromkeys(("without_risk", "transitions", "sweep", "sweeps"), Kind.BOUNDED),
        **dict.fromkeys(("examples", "contexts"), Kind.SAMPLE),
    },
    "POST /v1/receipts/search": {"items": Kind.TOTAL},
    "POST /v1/risk/ato/backfill": {"rejected": Kind.COUNTED},
    "POST /v1/risk/signals/bulk": {"rejected": Kind.COUNTED},
    "POST /v1/risk/simulate": {"curve": Kind.BOUNDED, "flips": Kind.BOUNDED, "examples": Kind.SAMPLE},
    "PATCH /v1/consumer/me": {"emails": Kind.BOUNDED},
    "PUT /v1/policies/attributes": {"items": Kind.WHOLE},
    "PUT /v1/risk/mappings": {"items": Kind.WHOLE},
}
STREAMS = {
    "GET /v1/lake/datasets/{name}",
    "GET /v1/receipts/export",
    "GET /v1/risk/signals/export",
    "POST /v1/lake/query",
}
# Writes of many things; every other write is about one object, and stands in ONE.
WRITES_OF_MANY = {
    "POST /v1/agents/{id}/kill": Kind.WHOLE,
    "POST /v1/agents/{id}/revoke": Kind.WHOLE,
    "POST /v1/agents/{id}/suspend": Kind.WHOLE,
    "POST /v1/delegations/{id}/revoke": Kind.WHOLE,
    "POST /v1/attestations/batch": Kind.EACH,
    "POST /v1/governance/issuer-requests/{id}/execute": Kind.WHOLE,
    "POST /v1/issuers/keys/{kid}/compromise": Kind.WHOLE,
    "POST /v1/issuers/keys/{kid}/revoke": Kind.WHOLE,
    "POST /v1/receipt-types/{name}/deprecate": Kind.WHOLE,
    "POST /v1/risk/ato/backfill": Kind.COUNTED,
    "POST /v1/risk/cases/reopen": Kind.EACH,
    "POST /v1/risk/cases/resolve": Kind.EACH,
    "POST /v1/risk/events/normalize": Kind.COUNTED,
    "POST /v1/observability/events/bulk": Kind.COUNTED,
    "POST /v1/risk/signals/bulk": Kind.COUNTED,
    "POST /v1/webhooks/endpoints/{id}/recover": Kind.COUNTED,
    "PUT /v1/policies/attributes": Kind.WHOLE,
    "PUT /v1/risk/mappings": Kind.WHOLE,
}
WRITES_OF_ONE = set(
    """
    DELETE /v1/consumer/protections/{id}
    DELETE /v1/consumer/emails/{email}
    DELETE /v1/issuers/{id}/logo
    DELETE /v1/platform/blog/posts/{id}
    DELETE /v1/risk/lists/{id}
    DELETE /v1/annotations/{id}
    DELETE /v1/users/{id}
    DELETE /v1/views/{id}
    DELETE /v1/auth/sessions/{id}
    DELETE /v1/webhooks/endpoints/{id}
    PATCH /v1/agents/{id}
    PATCH /v1/consumer/inbox/{id}
    PATCH /v1/consumer/protections/{id}
    PATCH /v1/consumer/emails/{email}
    PATCH /v1/consumer/me
    PATCH /v1/issuers/{id}
    PATCH /v1/orgs/{id}
    PATCH /v1/users/{id}
    PATCH /v1/views/{id}
    PUT /v1/views/{id}/schedule
    DELETE /v1/views/{id}/schedule
    PATCH /v1/webhooks/endpoints/{id}
    POST /billing/portal/change
    POST /billing/stripe/webhook
    POST /find
    POST /inbox/{id}
    POST /invitations/accept
    POST /protect
    POST /reset-password
    POST /settings
    POST /signin
    POST /signout
    POST /signup
    POST /verify-email
    POST /v1/agent-sessions
    POST /v1/agent-sessions/introspect
    POST /v1/agent-sessions/{id}/refresh
    POST /v1/agent-sessions/{id}/terminate
    POST /v1/agents
    POST /v1/agents/challenges
    POST /v1/agents/{id}/delegations
    POST /v1/agents/{id}/keys/rotate
    POST /v1/agents/{id}/keys/{kid}/compromise
    POST /v1/agents/{id}/resume
    POST /v1/agents/{id}/sign
    POST /v1/annotations
    POST /v1/api-keys
    POST /v1/api-keys/{id}/compromise
    POST /v1/api-keys/{id}/revoke
    POST /v1/attestation-packs
    POST /v1/attestations/mint
    POST /v1/attestations/{id}/revoke
    POST /v1/attestations/{id}/supersede
    POST /v1/auth/login
    POST /v1/auth/logout
    POST /v1/auth/password/forgot
    POST /v1/auth/password/reset
    POST /v1/auth/refresh
    POST /v1/billing/addons/attach
    POST /v1/billing/addons/detach
    POST /v1/billing/portal
    POST /v1/billing/subscription
    POST /v1/billing/subscription/preview
    POST /v1/compliance/checks
    POST /v1/consumer/api-keys
    POST /v1/consumer/api-keys/{id}/revoke
    POST /v1/consumer/inbox/deliver
    POST /v1/consumer/inbox/{id}/decline
    POST /v1/consumer/protections
    POST /v1/consumer/protections/{id}/revoke
    POST /v1/consumer/emails
    POST /v1/consumer/me/delete
    POST /v1/consumer/signup
    POST /v1/consumer/verify-email
    POST /v1/consumer/verify-email/resend
    POST /v1/governance/issuer-requests
    POST /v1/governance/issuer-requests/{id}/approve
    POST /v1/governance/issuer-requests/{id}/reject
    POST /v1/issuers
    POST /v1/issuers/keys/{kid}/rotate
    POST /v1/issuers/{id}/domain-proof/check
    POST /v1/issuers/{id}/keys
    POST /v1/lake/query
    POST /v1/me/password
    POST /v1/open-badges/verify
    POST /v1/orgs
    POST /v1/platform/blog/media
    POST /v1/platform/blog/posts
    POST /v1/platform/blog/posts/{id}/archive
    POST /v1/platform/blog/posts/{id}/publish
    POST /v1/policies
    POST /v1/policies/analyze
    POST /v1/policies/evaluate
    POST /v1/policies/simulate
    POST /v1/policies/{id}/activate
    POST /v1/policies/{id}/archive
    POST /v1/policies/{id}/shadow
    POST /v1/receipt-types
    POST /v1/receipts
    POST /v1/receipts/search
    POST /v1/delegations/verify
    POST /v1/receipts/verify
    POST /v1/receipts/{id}/redact
    POST /v1/receipts/{id}/revoke
    POST /v1/risk/ato/evaluate
    POST /v1/risk/cases/{id}/resolve
    PATCH /v1/risk/cases/{id}
    POST /v1/risk/cases/{id}/comments
    POST /v1/risk/challenge
    POST /v1/risk/deepfake/scan
    POST /v1/risk/events
    POST /v1/risk/lists
    POST /v1/risk/signals
    POST /v1/risk/simulate
    POST /v1/risk/velocity/record
    POST /v1/users
    POST /v1/users/accept-invite
    POST /v1/verification-profiles
    POST /v1/verify
    POST /v1/views
    POST /v1/webhooks/deliveries/{id}/resend
    POST /v1/webhooks/endpoints
    POST /v1/webhooks/endpoints/{id}/rotate
    POST /v1/webhooks/test-delivery
    POST /v1/observability/events
    POST /v1/orchestrations
    POST /v1/orchestrations/{id}/complete
    POST /v1/orchestrations/{id}/steps
    POST /v1/witness/requests
    POST /v1/witness/requests/{id}/attest
    PUT /v1/agents/settings
    PUT /v1/agents/{id}/card/signature
    PUT /v1/consumer/me/username
    PUT /v1/issuers/{id}/logo
    PUT /v1/platform/blog/posts/{id}
    PUT /v1/policies/{id}
    PUT /v1/risk/settings
    """.strip().split("\n    ")
)
# By the name of a verb, or by noun and verb where a name has several meanings.
VERBS = {
    **dict.fromkeys(
        ("list", "checkpoints", "keys", "requests", "versions", "sources", "names", "revocations"), Kind.PAGE
    ),
    **dict.fromkeys(("df", "pl", "arrow", "rel", "head", "sql"), Kind.STREAM),
    **dict.fromkeys(("to_parquet", "to_excel", "save"), Kind.FILE),
    **dict.fromkeys(("deliveries", "entity", "graph", "groups", "drift", "blast_radius", "search"), Kind.CUT),
    **dict.fromkeys(("simulate", "sweep", "isolate"), Kind.CUT),
    **dict.fromkeys(("plans", "addons", "usage"), Kind.BOUNDED),
    **dict.fromkeys(("attributes", "event_types", "analyze", "mapping", "steps", "examine_bundle"), Kind.BOUNDED),
    **dict.fromkeys(("change_mapping", "judge_logins", "replay", "demo_world"), Kind.WHOLE),
    **dict.fromkeys((f"draw_{each}" for each in ("bars", "columns", "contributions", "counts", "days")), Kind.WHOLE),
    **dict.fromkeys((f"draw_{each}" for each in ("lines", "scores", "severities", "states", "times")), Kind.WHOLE),
    "draw_volume": Kind.WHOLE,
    **dict.fromkeys(("mint_many", "resolve_many", "reopen"), Kind.EACH),
    "deliver": Kind.COUNTED,
    **dict.fromkeys(("add_many", "report_many", "backfill_logins", "normalize", "recover", "events"), Kind.COUNTED),
}
MANY = re.compile(
    r"Iterator|Iterable\[Mapping|Records|Rows|pa\.Table|DataFrame|Relation|MintResults|Signals|tuple\[Step"
)
MANY_HANDLES = (
    *("Bulk", "Simulation", "Normalization", "WebhookRecovery", "Drift", "Graph", "Entity", "BlastRadius", "Analysis"),
    *("RiskSimulation", "Mapping"),
)
COMMANDS = {
    "init": Kind.WHOLE,
    "serve": None,
    "demo": Kind.WHOLE,
    "openapi": Kind.WHOLE,
    "verify": None,
    "badge": Kind.FILE,
    "mint": Kind.COUNTED,  # exit 1: attested, without its bundle
    "notebooks": Kind.FILE,
    "search": Kind.CUT,
    "listen": Kind.COUNTED,
    "trigger": None,
    "tenant create": None,
    "tenant list": Kind.BOUNDED,
    "tenant plan": None,
    "tenant invoices": Kind.WHOLE,
    "consumer create": None,
    "consumer invite": None,
    "blog import": Kind.WHOLE,
    "receipt verify": None,
    "agent list": Kind.CUT,
    "agent show": None,
    "agent tree": Kind.CUT,
    "agent review": Kind.CUT,
    "agent kill": Kind.WHOLE,
    "views list": Kind.BOUNDED,
    "views save": None,
    "views delete": None,
    "views schedule": None,
    "views unschedule": None,
    "annotate": None,
    "annotations list": Kind.WHOLE,
    "annotations remove": None,
    "policy check": Kind.BOUNDED,
    "policy simulate": Kind.CUT,
    "log watch": Kind.COUNTED,  # an entry is recorded as seen after it was printed
    "log accept-head": None,
    "log confirm-time": None,
    "log vkey": None,
    "log fsck": Kind.WHOLE,
    "log export": Kind.FILE,
    "lake export": Kind.FILE,
    "lake rebuild": Kind.FILE,
    "keyring rewrap": Kind.WHOLE,
    "witness init": None,
    "witness serve": None,
}


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def models_of(route: Route) -> list[type[BaseModel]]:
    named = get_args(route.result) or (route.result,)
    return [each for each in named if isinstance(each, type) and issubclass(each, BaseModel)]


def is_list(annotation: Any) -> bool:
    """Whether a type, or a part of a union, is a list."""
    return any(get_origin(each) in (list, Sequence) for each in (annotation, *get_args(annotation)))


def lists_of(route: Route) -> Iterator[str]:
    """The members of a response that are lists, but for those that are parts of one object."""
    if get_origin(route.result) is list:
        yield ""
    for model in models_of(route):
        members = {name for name, field in model.model_fields.items() if is_list(field.annotation)}
        yield from sorted(members - PARTS - ({"items"} if "next_cursor" in model.model_fields else set()))


def test_every_list_of_a_response_says_whether_it_is_whole() -> None:
    found = {name_of(route): set(lists_of(route)) for route in all_routes()}

    assert {name: members for name, members in found.items() if members} == {
        name: set(members) for name, members in LISTS.items()
    }


def test_a_list_that_may_be_cut_has_the_member_that_says_so() -> None:
    says = {
        Kind.PAGE: {"next_start", "next_after", "next_cursor"},
        Kind.CUT: {"truncated"},
        Kind.TOTAL: {"total"},
        Kind.COUNTED: {"more_rejected"},
    }
    for route in all_routes():
        kinds = {kind for kind in LISTS.get(name_of(route), {}).values() if kind in says}
        members = {name for model in models_of(route) for name in model.model_fields}
        if get_origin(route.result) is list:
            assert "X-Next-Cursor" in route.headers, name_of(route)
        else:
            assert [kind for kind in kinds if not says[kind] & members] == [], name_of(route)


def test_every_streamed_response_is_listed() -> None:
    streams = {name_of(route) for route in all_routes() if StreamedResponse in _returns(route)}

    assert streams == STREAMS


def _returns(route: Route) -> tuple[object, ...]:
    returns = route.handler.returns
    return (returns, *get_args(returns))


def test_every_write_is_of_one_thing_or_says_what_it_did_of_many() -> None:
    writes = {name_of(route) for route in all_routes() if route.method != "GET"}

    assert WRITES_OF_ONE & WRITES_OF_MANY.keys() == set()
    assert writes - WRITES_OF_ONE - WRITES_OF_MANY.keys() == set()
    assert (WRITES_OF_ONE | WRITES_OF_MANY.keys()) - writes == set()


def test_every_verb_of_many_is_listed() -> None:
    many = {name for name, verb in list_public_verbs().items() if handles_many(verb)}
    unlisted = {name for name in many if name.rpartition(".")[2] not in VERBS}
    names = {name.rpartition(".")[2] for name in list_public_verbs()}

    assert unlisted == set()
    assert VERBS.keys() - names == set()


def handles_many(verb: Any) -> bool:
    """Whether a verb takes or returns many things, or writes a file."""
    declared = inspect.signature(verb)
    annotations = [str(each.annotation) for each in declared.parameters.values()]
    returned = str(declared.return_annotation)
    is_answer = returned.removesuffix("Handle") in MANY_HANDLES
    return is_answer or "path" in declared.parameters or any(map(MANY.search, [returned, *annotations]))


def test_every_command_is_listed() -> None:
    assert set(_leaves(typer.main.get_command(commands.app))) == COMMANDS.keys()


def _leaves(group: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, (*words, name))
        else:
            yield " ".join((*words, name))
