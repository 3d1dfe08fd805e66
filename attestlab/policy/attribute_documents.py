"""A tenant's own attributes: as JSON in, as JSON out, and as a registry beside the platform's."""

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
    """The registry of a tenant whose own attributes are stored as `own`; kept, for every decision asks for it."""
    return PLATFORM.with_own(map(parse_attribute, json.loads(own))) if own != NO_ATTRIBUTES else PLATFORM


def serialize_attributes(own: Iterable[Mapping[str, Any]]) -> str:
    """Own attributes as they are stored, checked.

    Raises:
        ValidationFailed: one means nothing, or stands in another's way.
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
    """An attribute from JSON: `{path, type, domain?, unit?, mutable?}`.

    The `domain` of an enum is a list of its values, that of a number `{min?, max?}`.

    Raises:
        ValidationFailed: it means nothing.
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
    """An attribute as JSON; the `domain` of what has none is null."""
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
