"""A tenant's own attributes: parsed from JSON, written as JSON, and combined with the platform's registry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import FieldError, ValidationFailed
from attestlab.policy.language.attributes import NUMERIC, PLATFORM, Attribute, AttributeType, Registry

NO_ATTRIBUTES = "[]"


@lru_cache(maxsize=256)
def build_registry(own: str) -> Registry:
    """Build the registry of a tenant from its stored own attributes; cached, because every decision needs it."""
    return PLATFORM.with_own(map(parse_attribute, json.loads(own))) if own != NO_ATTRIBUTES else PLATFORM


def serialize_attributes(own: Iterable[Mapping[str, Any]]) -> str:
    """Validate own attributes and return them as stored.

    Raises:
        ValidationFailed: an attribute is invalid, or its path conflicts with another's.
    """
    text = canonical([dump_attribute(attribute) for attribute in _parse_attributes(own)]).decode()
    build_registry(text)
    return text


def _parse_attributes(own: Iterable[Mapping[str, Any]]) -> list[Attribute]:
    read = []
    for index, each in enumerate(own):
        try:
            read.append(parse_attribute(each))
        except ValidationFailed as error:
            fields = [FieldError(f"/attributes/{index}{f.field}", f.code, f.message) for f in error.fields]
            raise ValidationFailed(error.message, fields) from None
    return read


def parse_attribute(told: Mapping[str, Any]) -> Attribute:
    """Parse an attribute from JSON: `{path, type, domain?, unit?, mutable?}`.

    The `domain` of an enum is a list of its values, that of a number `{min?, max?}`.

    Raises:
        ValidationFailed: the attribute is invalid.
    """
    domain = told.get("domain")
    values = tuple(domain) if isinstance(domain, list) else ()
    bounds = domain if isinstance(domain, dict) else {}
    return Attribute(
        told["path"],
        AttributeType(told["type"]),
        values,
        bounds.get("min"),
        bounds.get("max"),
        told.get("unit"),
        told.get("mutable", True),
    )


def dump_attribute(attribute: Attribute) -> dict[str, Any]:
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
