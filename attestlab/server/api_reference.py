"""The words of the API reference that no model has: groups, path parameters, examples that a test has sent.

`make examples` writes `examples.json` from the responses of a real server (`tests/support/api_tour`); it is read when
the first client asks for the description.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

import orjson

from attestlab.server.api_vocabulary import ENUMS, PATH_PARAMETERS
from attestlab.web.openapi.vocabulary import Vocabulary
from attestlab.webhooks import openapi as webhook_events

TAGS: Final = {
    "attestations": "Mint, read, verify, revoke and supersede attestations, and export their proofs.",
    "exports": "Attestations in the formats of others: SD-JWT VC, Open Badges, Bitstring Status List.",
    "portal": "Pages for people: the first page and its search, the page of an attestation, this reference.",
    "issuers": "Issuers with their signing keys, logos and proofs of domain.",
    "protections": "Content that consumers protect by its hash, and their public portfolios.",
    "receipts": "Receipts: signed and logged records of events, each of a type with a JSON Schema.",
    "agents": "Machine agents: which there are, who answers for them, what they may do, their keys.",
    "blog": "Posts of the operator: written by editors, public as pages, feed and JSON.",
    "accounts": "Accounts of consumers: sign-up, username, addresses, export, deletion.",
    "billing": "Plans, add-ons, invoices, and the usage of what a plan allows.",
    "governance": "Changes of an issuer's status and ratings, which other people approve.",
    "policies": "Policies over mints, verifications and exports: write, prove, simulate, activate, explain.",
    "risk": "Risk signals, the ways in which they arise, and what follows from them.",
    "webhooks": "Endpoints that receive the tenant's events, the types of events, and the log of events.",
    webhook_events.TAG: "The requests that your endpoints receive, one for each type of events.",
    "lake": "The tenant's rows for analysis, read by SQL or as a whole, as Arrow or JSON.",
    "search": "Whatever the tenant has, by the beginning of an id or a part of a name.",
    "views": "The filters of a page of the dashboards by a name, for a person or for the tenant.",
    "annotations": "What happened at a time, for all people of the tenant.",
    "delivery": "Whether the recipients of an attestation have it.",
    "inbox": "What issuers delivered to a consumer, and deliveries to further recipients.",
    "log": "The transparency log, for log clients (C2SP) and for people (JSON). All of it is public.",
    "audit": "The audit trail of the tenant.",
    "identity": "Sign-in, tokens and the current user.",
    "api-keys": "API keys of tenants and consumers.",
    "orgs": "The tenant's organizations and people.",
    "operations": "Health, metrics and this description.",
}
INFO: Final = {
    "summary": "Attestations that anyone can verify, with a transparency log.",
    "description": "Bodies are strict JSON in UTF-8. Errors of all operations have one envelope, `Error`, with a "
    "stable `code`. Lists are newest first and continue with `next_cursor`. A POST with an `Idempotency-Key` can be "
    "sent again safely. Examples were sent to a running server by a test.",
    "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
}


def load_vocabulary() -> Vocabulary:
    """Load the words of the API."""
    examples = orjson.loads(files("attestlab.server").joinpath("examples.json").read_bytes())
    return Vocabulary(
        enums=ENUMS,
        path_parameters=PATH_PARAMETERS,
        tags=TAGS,
        examples=examples,
        info=INFO,
        webhooks=webhook_events.describe_webhooks(),
    )
