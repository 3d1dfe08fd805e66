"""One walk through the nouns of a lab, and the shape of what it meets, to compare doors and engines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attestlab.client.handles.base import Handle
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError

DOCUMENT = b"any file will do"
CLAIMS = {"student_name": "Ada Lovelace", "institution": "University of London"}
_VARIABLE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|dec_[0-9A-Z]{26}|\d+")
POLICY = """
name = "Known countries {door}"
category = "MINT"
target_type = "TENANT_DEFAULT"
default_effect = "ALLOW"

[[rules]]
id = "far-away"
effect = "DENY"
priority = 1
when = {{ attr = "jurisdiction", op = "eq", value = "AQ" }}
"""


def walk_through(lab: Lab, door: str, folder: Path) -> Iterator[object]:
    """One walk through the nouns of a lab; what it meets, in order."""
    file = folder / "diploma.pdf"
    file.write_bytes(DOCUMENT)
    issuer = lab.issuers.create(f"Registrar {door}", "registrar.example", jurisdiction="CH")
    yield issuer
    minted = lab.mint(file, issuer=issuer.name, schema="degree", claims=CLAIMS)
    yield minted
    yield lab.mint(issuer=issuer, schema="degree", claims=CLAIMS, subject_reference="s-1")
    yield minted.verify(file=DOCUMENT)
    yield lab.verify(minted, file=b"another")
    yield lab.verify(str(minted.id), file=str(file))
    bundle = minted.bundle()
    yield bundle.verify(file=file)
    yield lab.verify(bundle.save(folder / f"{door}.json"), file=b"another")
    yield lab.attestations[minted.id]
    yield lab.attestations[:2]
    yield list(lab.attestations.list(issuer_id=issuer, status="VALID"))
    yield lab.attestations.mint_many([{"issuer": issuer, "schema": name, "claims": CLAIMS} for name in ("degree", "x")])
    yield lab.attestations.supersede(minted, b"a new file", schema="degree", claims=CLAIMS)
    yield next(lab.attestations.list(issuer_id=issuer.id, status="SUPERSEDED")).verify()
    yield lab.attestations[0].revoke("a test")
    yield issuer.rotate_key()
    yield lab.mint(issuer=issuer, schema="degree", claims=CLAIMS)  # with the new key, though `issuer` is older
    yield lab.issuers.keys(issuer)
    yield lab.issuers.update(issuer, display_name="The registrar")
    yield lab.issuers.blast_radius(issuer)
    yield lab.issuers.compromise_key(lab.issuers[issuer.name].active_key, "a test")
    yield from walk_through_log(lab)
    yield from walk_through_policies(lab, door)
    yield from walk_through_risk(lab, door)
    yield from walk_through_webhooks(lab)
    yield from walk_through_receipt_types(lab)
    yield from walk_through_receipts(lab)
    yield lab.audit[:2]


def walk_through_log(lab: Lab) -> Iterator[object]:
    head = lab.log.head()
    yield head
    yield lab.log[0], lab.log[-1], lab.log[:3], lab.log[2:0:-1]
    yield lab.log.proof(0)
    yield lab.log.consistency(1, head.tree_size)
    yield lab.log.lookup(lab.attestations[0])
    yield lab.log.vkey()
    assert len(list(lab.log)) == len(lab.log)


def walk_through_receipt_types(lab: Lab) -> Iterator[object]:
    first = lab.receipt_types.create("delivery", "1.0.0", {"required": ["parcel"]}, display_name="Delivery")
    assert first.schema == {"required": ["parcel"]}
    yield first
    yield lab.receipt_types.create("delivery", "1.1.0-rc.1+b.2", {"$ref": "#/$defs/a", "$defs": {"a": {}}})
    yield lab.receipt_types["delivery"], lab.receipt_types["delivery@1.0.0"], lab.receipt_types[0]
    yield list(lab.receipt_types), list(lab.receipt_types.list(versions="all", limit=5))
    yield first.deprecate(reason="a test"), lab.receipt_types.deprecate("delivery")
    yield list(lab.receipt_types.list(status="active"))


def walk_through_receipts(lab: Lab) -> Iterator[object]:
    clerk = lab.issuers.create("Clerk of arrivals", "clerk.example", jurisdiction="CH")
    lab.receipt_types.create("arrival", "1.0.0", {"required": ["parcel"]})
    receipt = lab.receipts.mint("arrival", {"parcel": "7"}, issuer=clerk, subject="parcel 7")
    yield receipt, lab.receipts[receipt.receipt_id], lab.receipts[0], list(lab.receipts.list(status="ACTIVE", limit=1))
    yield receipt.verify(payload={"parcel": "7"}), lab.receipts.verify(receipt)
    yield receipt.bundle(), receipt.bundle().verify(), lab.verify(lab.receipts.bundle(receipt).document)
    yield receipt.redact("asked to"), receipt.revoke("delivered elsewhere")
    other = lab.receipts.mint("arrival", {"parcel": "8"}, issuer=clerk)
    yield lab.receipts.redact(other), lab.receipts.revoke(other, "delivered elsewhere")


def walk_through_webhooks(lab: Lab) -> Iterator[object]:
    endpoint = lab.webhooks.create("https://receiver.invalid/hooks", events="billing.*")
    yield endpoint
    yield lab.webhooks["receiver.invalid"], lab.webhooks[0], list(lab.webhooks)
    yield endpoint.update(name="Ledger", status="disabled")
    yield lab.webhooks.update("Ledger", status="active", events=["billing.*", "key.rotated"])
    yield endpoint.rotate(overlap_s=60)
    yield endpoint.test()
    yield lab.webhooks.test(endpoint, "ledger.ping", {"number": 7})
    yield endpoint.deliveries()
    yield endpoint.deliveries(status="failed", limit=1)[0].resend()
    yield endpoint.recover("2026-01-01", mode="missing", dry_run=True)
    yield lab.webhooks.event_types("key")
    yield next(lab.webhooks.events())
    endpoint.delete()
    yield list(lab.webhooks)


def walk_through_policies(lab: Lab, door: str) -> Iterator[object]:
    policy = lab.policies.create(POLICY.format(door=door))
    yield policy
    yield policy.shadow()
    yield lab.policies.update(policy, policy.toml())
    yield policy.simulate()
    yield policy.analyze()
    yield lab.policies.attributes()
    yield policy.versions()
    yield lab.policies[policy.name]
    decision = lab.policies.evaluate("MINT", {"jurisdiction": "AQ"})
    yield decision
    yield decision.explain()
    yield lab.decisions[decision.decision_id]


def walk_through_risk(lab: Lab, door: str) -> Iterator[object]:
    user = f"user:{door}"
    signal = lab.signals.add("gateway", "behavior", 91, user)
    yield signal
    yield lab.signals.add_many(
        [{"source": "a", "signal_type": "b", "score": 1, "entity_type": "ip", "entity_id": "::1"}]
    )
    yield lab.signals.record_event("login.failed.repeated", user)
    yield lab.signals.record_velocity("upload", user)
    yield lab.signals.evaluate_login(door, "failure", ip="192.0.2.1")
    yield lab.signals.entity(signal), lab.signals.graph(user, depth=1), signal.entity()
    yield lab.signals.drift(), lab.signals.sources()
    yield next(lab.cases.list(entity_id=door)).resolve("fraud")
    entry = lab.lists.add("deny", "user", door, reason="a test")
    yield entry, lab.lists[entry.id]
    entry.remove()
    yield lab.challenges.create(door, "a reason that is long enough")


def describe(value: object) -> object:
    """The shape of what a verb returned: types, members and texts, with ids, times and numbers left out."""
    if isinstance(value, list | tuple):
        return [describe(each) for each in value]
    if isinstance(value, AttestLabError):
        return type(value).__name__, value.code, _VARIABLE.sub("#", value.message)
    assert isinstance(value, Handle)
    return type(value).__name__, shape(value.to_dict())


def shape(value: Any) -> object:
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return type(value).__name__
