"""The subschemas of a JSON Schema, and a bound of the work of validating by them (JSON Schema 2020-12, core, 10).

A short schema can ask for endless work: with `allOf` of two references to the next of thirty definitions, a billion
subschemas apply to one value. So the work is counted before a library compiles the schema, and schemas are refused
whose work grows beyond a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn
from urllib.parse import unquote

from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed

MAX_CHECKS_PER_VALUE: Final = 20_000
"""How many subschemas, and values that they list, may apply to one value of a payload."""

# Keywords whose subschemas apply to the same value, and to its members or elements.
# What a check of a kind takes more than others, which take some 10 ns.
_CHECKS_OF_CONTAINER: Final = 20  # an array or object among the options of an `enum` is compared with each value
_CHECKS_OF_FRACTION: Final = 1_000  # `multipleOf` a fraction is computed with rational numbers
_REFERENCES: Final = ("$ref", "$dynamicRef")
_IN_PLACE: Final = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", *_REFERENCES))
_OF_ELEMENTS: Final = frozenset({"prefixItems", "items", "contains", "unevaluatedItems"})
_OF_MEMBERS: Final = frozenset(
    ("properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties")
)
_UNEVALUATED: Final = frozenset({"unevaluatedItems", "unevaluatedProperties"})
_EXCLUSIVE: Final = frozenset({"prefixItems", "items", "properties", "additionalProperties"})
_UNUSED: Final = frozenset({"$defs", "definitions", "contentSchema"})  # apply to nothing by themselves
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SUBSCHEMAS: Final = _IN_PLACE.difference(_REFERENCES) | _OF_ELEMENTS | _OF_MEMBERS | _UNUSED
_ANCHORS: Final = ("$anchor", "$dynamicAnchor")


class SubschemaLink(NamedTuple):
    """A keyword of a subschema, and the JSON Pointer of the subschema that it applies."""

    keyword: str
    target: str


@dataclass
class Subschema:
    """A subschema: its place as a JSON Pointer, the values that it lists, and the subschemas that it applies."""

    pointer: str
    document: Mapping[str, object] | bool
    links: list[SubschemaLink] = field(default_factory=list)
    size: int = 1

    @property
    def in_place(self) -> list[str]:
        """The subschemas that apply to the same value."""
        return [link.target for link in self.find_links(_IN_PLACE)]

    def find_links(self, keywords: frozenset[str]) -> list[SubschemaLink]:
        """Find the links of some keywords."""
        return [link for link in self.links if link.keyword in keywords]


Subschemas = Mapping[str, Subschema]


def list_subschemas(schema: Mapping[str, object]) -> Subschemas:
    """List all subschemas by their JSON Pointers, with their references resolved; the root is "".

    Raises:
        ValidationFailed: a reference leads elsewhere, or another subschema than the whole has `$id` or `$schema`.
    """
    found: dict[str, Subschema] = {}
    waiting: list[tuple[str, object]] = [("", schema)]
    while waiting:
        pointer, document = waiting.pop()
        if not isinstance(document, Mapping | bool):
            refuse(pointer, "A schema is an object, true or false.")
        found[pointer] = Subschema(pointer, document)
        if isinstance(document, Mapping):
            _require_one_resource(pointer, document)
            children = list(_iterate_children(pointer, document))
            found[pointer].links += [SubschemaLink(keyword, place) for keyword, place, _ in children]
            found[pointer].size += sum(_weigh(name, value) for name, value in document.items())
            waiting += [(place, child) for _, place, child in children]
    anchors = _list_anchors(found)
    for subschema in found.values():
        subschema.links += _resolve_references(subschema, found, anchors)
    return found


def _require_one_resource(pointer: str, document: Mapping[str, object]) -> None:
    for name in ("$id", "$schema"):
        if pointer and name in document:
            refuse(f"{pointer}/{name}", f"Only the whole schema may have {name}. Remove it from this subschema.")


def _iterate_children(pointer: str, document: Mapping[str, object]) -> Iterator[tuple[str, str, object]]:
    """Yield keyword, pointer and document of each subschema that a document holds."""
    for keyword, value in document.items():
        place = f"{pointer}/{escape(keyword)}"
        if keyword in _MAPS and isinstance(value, Mapping):
            yield from ((keyword, f"{place}/{escape(name)}", child) for name, child in value.items())
        elif keyword in _LISTS and isinstance(value, list):
            yield from ((keyword, f"{place}/{index}", child) for index, child in enumerate(value))
        elif keyword in _SUBSCHEMAS:
            yield keyword, place, value


def _weigh(keyword: str, value: object) -> int:
    """Count the checks of a keyword that is no subschema, such as those of the options of an `enum`."""
    if keyword in _SUBSCHEMAS:
        return 0
    if keyword == "multipleOf" and not isinstance(value, int):
        return _CHECKS_OF_FRACTION
    return _count_values(value)


def _count_values(value: object) -> int:
    if not isinstance(value, Mapping | list):
        return 1
    members = value.values() if isinstance(value, Mapping) else value
    return _CHECKS_OF_CONTAINER + sum(map(_count_values, members))


def _list_anchors(found: Subschemas) -> dict[str, str]:
    anchors: dict[str, str] = {}
    for pointer, subschema in found.items():
        for name in _ANCHORS:
            if isinstance(subschema.document, Mapping) and name in subschema.document:
                anchor = str(subschema.document[name])
                if anchors.setdefault(anchor, pointer) != pointer:
                    refuse(f"{pointer}/{name}", f"Another subschema has the anchor {quote(anchor[:80])}.")
    return anchors


def _resolve_references(subschema: Subschema, found: Subschemas, anchors: Mapping[str, str]) -> Iterator[SubschemaLink]:
    if not isinstance(subschema.document, Mapping):
        return
    for keyword in _REFERENCES:
        if keyword in subschema.document:
            yield SubschemaLink(keyword, _resolve(subschema, keyword, str(subschema.document[keyword]), found, anchors))


def _resolve(subschema: Subschema, keyword: str, reference: str, found: Subschemas, anchors: Mapping[str, str]) -> str:
    place = f"{subschema.pointer}/{keyword}"
    if not reference.startswith("#"):
        message = f"{quote(reference[:80])} is outside this schema. Refer to a part of it, such as #/$defs/address."
        refuse(place, message)
    fragment = unquote(reference[1:])
    target = fragment if fragment in found else anchors.get(fragment)
    if target is None:
        refuse(place, f"{quote(reference[:80])} is no subschema of this schema. Refer to one, such as #/$defs/address.")
    return target


def refuse(pointer: str, message: str) -> NoReturn:
    """Refuse a schema.

    Raises:
        ValidationFailed: always; the field begins with `/schema`.
    """
    raise ValidationFailed.of(f"/schema{pointer}", "schema", message)


def escape(name: str) -> str:
    """Escape a member's name for a JSON Pointer (RFC 6901, section 3)."""
    return name.replace("~", "~0").replace("/", "~1")


def bound_checks(subschemas: Subschemas, *, max_depth: int) -> list[int]:
    """Return how many checks a value at each depth of a payload takes at most, from the whole payload down.

    Raises:
        ValidationFailed: they exceed `MAX_CHECKS_PER_VALUE`, or references lead back to the same value.
    """
    order = _order_in_place(subschemas)
    sizes = {pointer: subschema.size for pointer, subschema in subschemas.items()}
    below = _add_up_in_place(order, subschemas, sizes, sizes)
    checks = [below[""]]
    while len(checks) <= max_depth and 0 < checks[-1] <= MAX_CHECKS_PER_VALUE:
        above, below = below, _step_down(order, subschemas, below)
        checks.append(below[""])
        if below == above:  # of a schema that refers to itself, from here down
            return checks + checks[-1:] * (max_depth + 1 - len(checks))
    if max(checks) > MAX_CHECKS_PER_VALUE:
        message = (
            f"More than {MAX_CHECKS_PER_VALUE:,} checks can apply to one value of a payload. Use fewer alternatives, "
            "shorter lists, or fewer references that lead to the same definition."
        )
        refuse("", message)
    return checks


def _order_in_place(subschemas: Subschemas) -> list[str]:
    """Order the subschemas so that each comes after those that it applies to the same value."""
    order: list[str] = []
    visited: set[str] = set()
    for start in subschemas:
        stack = [] if start in visited else [(start, iter(subschemas[start].in_place))]
        open_places = {start}
        while stack:
            pointer, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                visited.add(pointer)
                open_places.discard(pointer)
                order.append(pointer)
                stack.pop()
            elif target in open_places:
                refuse(pointer, "References lead from this subschema back to it for the same value, without an end.")
            elif target not in visited:
                open_places.add(target)
                stack.append((target, iter(subschemas[target].in_place)))
    return order


def _add_up_in_place(
    order: Sequence[str], subschemas: Subschemas, own: Mapping[str, int], unevaluated: Mapping[str, int]
) -> dict[str, int]:
    """Add to the checks of each subschema those of the subschemas that it applies to the same value.

    For `unevaluatedProperties` and `unevaluatedItems`, these are validated once more at each level, to learn which
    members they evaluated.
    """
    total: dict[str, int] = {}
    again: dict[str, int] = {}
    for pointer in order:
        targets = subschemas[pointer].in_place
        again[pointer] = unevaluated[pointer] + sum(total[target] + again[target] for target in targets)
        total[pointer] = own[pointer] + sum(total[target] for target in targets)
        total[pointer] += again[pointer] * len(subschemas[pointer].find_links(_UNEVALUATED))
    return total


def _step_down(order: Sequence[str], subschemas: Subschemas, below: Mapping[str, int]) -> dict[str, int]:
    """Return the checks of a value one level further down, which is an element or a member."""
    unevaluated = {pointer: _count_applied(one, _UNEVALUATED, below) for pointer, one in subschemas.items()}
    kinds = []
    for keywords in (_OF_ELEMENTS, _OF_MEMBERS):
        own = {pointer: _count_applied(one, keywords, below) for pointer, one in subschemas.items()}
        kinds.append(_add_up_in_place(order, subschemas, own, unevaluated))
    return {pointer: max(kind[pointer] for kind in kinds) for pointer in subschemas}


def _count_applied(subschema: Subschema, keywords: frozenset[str], below: Mapping[str, int]) -> int:
    """Count the checks that a subschema applies to one member: of `properties`, each member has but one."""
    applied = subschema.find_links(keywords)
    exclusive = max((below[link.target] for link in applied if link.keyword in _EXCLUSIVE), default=0)
    return exclusive + sum(below[link.target] for link in applied if link.keyword not in _EXCLUSIVE)
