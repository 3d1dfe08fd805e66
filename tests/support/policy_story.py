"""Policies and decisions for the policy simulator: two people, an active policy, and forty recorded decisions."""

from __future__ import annotations

from typing import Any, NamedTuple

from attestlab import Lab
from attestlab.client.handles.policies import PolicyHandle

PASSWORD = "only for the demo"
HOSTILE = "<img src=x onerror=alert(1)>\"'"
COUNTRIES = ("CH", "DE", "FR", "CY")
TIERS = ("BASIC", "VERIFIED")
ACTIVE = """name = "Minting <b>&"
category = "MINT"
target_type = "TENANT_DEFAULT"
default_effect = "DENY"

[[rules]]
id = "old-key"
effect = "DENY"
priority = 10
reason = "<script>alert(2)</script>"
when = { attr = "key.age_days", op = "gt", value = 200 }

[[rules]]
id = "trusted"
effect = "ALLOW"
priority = 20
when = { any = [
  { attr = "trust_tier", op = "eq", value = "VERIFIED" },
  { attr = "jurisdiction", op = "in", value = ["CH", "DE"] },
] }
"""
DRAFT = ACTIVE.replace("value = 200", "value = 300").replace('["CH", "DE"]', '["CH"]')


def add_rule(text: str, rule_id: str, priority: int, when: str) -> str:
    """A document with one more DENY rule."""
    return f'{text}\n[[rules]]\nid = "{rule_id}"\neffect = "DENY"\npriority = {priority}\nwhen = {when}\n'


class PolicyStory(NamedTuple):
    """The lab of each person, and the active policy."""

    ann: Lab
    ben: Lab
    policy: PolicyHandle


def tell(lab: Lab) -> PolicyStory:
    """Let one person write a policy and another activate it, and record decisions about two issuers."""
    ann, ben = (lab.as_(f"{name}@demo.example", password=PASSWORD) for name in ("ann", "ben"))
    written = ann.policies.create(ACTIVE)
    ben.policies.activate(written, written.simulate())
    for issuer_id in (each.id for each in list_issuers(ann)):
        for place in range(20):
            ann.policies.evaluate("MINT", make_context(place), target_type="ISSUER", target_id=issuer_id)
    return PolicyStory(ann, ben, ann.policies.get(written.id))


def list_issuers(lab: Lab) -> list[Any]:
    """The two issuers that the decisions are about; the name of one is hostile."""
    hostile = [each for each in lab.issuers.list() if each.domain == "hostile.example"]
    return [*(hostile or [lab.issuers.create(HOSTILE, "hostile.example")]), lab.issuers["Northfield University"]]


def make_context(place: int) -> dict[str, object]:
    """A context: countries, tiers and ages of keys alternate, and every tenth decision knows no age."""
    age = {} if place % 10 == 9 else {"key.age_days": 40 * place}
    return {"jurisdiction": COUNTRIES[place % 4], "trust_tier": TIERS[place // 4 % 2], "risk_rating": "LOW", **age}
