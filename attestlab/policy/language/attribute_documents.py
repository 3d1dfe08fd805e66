"""Attributes as JSON documents, in records and in HTTP bodies."""

from __future__ import annotations

from collections.abc import Mapping

from attestlab.policy.language.attributes import NUMERIC, Attribute, AttributeType


def parse_attribute(document: Mapping[str, object]) -> Attribute:
    """Parse an attribute from JSON: `{path, type, domain?, unit?, mutable?}`.

    The `domain` of an enum is a list of its values, that of a number `{min?, max?}`.

    Raises:
        ValidationFailed: the attribute is invalid.
    """
    domain, unit = document.get("domain"), document.get("unit")
    values = tuple(domain) if isinstance(domain, list) else ()
    bounds = domain if isinstance(domain, dict) else {}
    return Attribute(
        str(document["path"]),
        AttributeType(str(document["type"])),
        values,
        bounds.get("min"),
        bounds.get("max"),
        None if unit is None else str(unit),
        bool(document.get("mutable", True)),
    )


def dump_attribute(attribute: Attribute) -> dict[str, object]:
    """Return an attribute as JSON; `domain` is null for an attribute without one."""
    bounds = {"min": attribute.least, "max": attribute.most}
    limits = {name: bound for name, bound in bounds.items() if bound is not None}
    domain = (limits or None) if attribute.type in NUMERIC else (list(attribute.values) or None)
    return {
        "path": attribute.path,
        "type": attribute.type.value,
        "domain": domain,
        "unit": attribute.unit,
        "mutable": attribute.mutable,
    }
