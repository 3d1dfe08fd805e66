"""Policy documents with valid defaults, and the attributes that they may name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attestlab.policy.evaluation.binder import bind
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import PLATFORM, RISK_ATTRIBUTES, Attribute, AttributeType, Registry
from attestlab.policy.language.document import Document
from attestlab.risk.rules import EntityType

# The attributes of risk are alike for each entity; one of them keeps generated policies and contexts small.
_FOR_ONE_ENTITY = [each for path, each in PLATFORM.items() if RISK_ATTRIBUTES.get(path) in (None, EntityType.ISSUER)]
REGISTRY: Registry = Registry(_FOR_ONE_ENTITY).with_own(
    [
        Attribute("claims.amount", AttributeType.NUMBER, unit="CHF"),
        Attribute("claims.count", AttributeType.INTEGER, least=-5, most=5),
        Attribute("is_resident", AttributeType.BOOLEAN),
        Attribute("note", AttributeType.TEXT),
        Attribute("size", AttributeType.ENUM, ("S", "M", "l")),
    ]
)


def make_document(*rules: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A tenant's default policy for minting, with what a test wants to say."""
    plain = {"name": "p", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "DENY"}
    return {**plain, "rules": list(rules), **more}


def make_rule(name: str, effect: str, when: Mapping[str, Any], priority: int = 0, **more: Any) -> dict[str, Any]:
    """One rule of a document."""
    return {"id": name, "effect": effect, "priority": priority, "when": when, **more}


def make_condition(attr: str, op: str, value: Any) -> dict[str, Any]:
    """One question."""
    return {"attr": attr, "op": op, "value": value}


def bind_document(raw: Mapping[str, Any], registry: Registry = REGISTRY) -> Policy:
    """The policy that a JSON document means."""
    return bind(Document.read(raw), registry)
