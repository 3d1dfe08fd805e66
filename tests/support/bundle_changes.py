"""Changes of a proof bundle's JSON, each of which a verifier must refuse, unless it changes what nothing proves."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.core.errors import AttestLabError
from attestlab.installation import Installation

# A reader may do without these: they repeat, in a friendlier form, what other members prove.
COPIES_OF_ALL = {
    "/issuer",
    "/issuer/id",
    "/issuer/name",  # without it the report calls the name unproven
    "/issuer/trust_level",
    "/inclusion_proof/tree_size",
    "/inclusion_proof/leaf_hash",
    "/inclusion_proof/root_hash",
    "/signed_tree_head/tree_size",
    "/signed_tree_head/root_hash",
    "/signed_tree_head/signature",
    "/signed_tree_head/timestamp",
    "/signed_tree_head/cosignatures",
    "/tlog_proof",
    "/status_proof/list",  # without it `not_checked` says more, and no reason that nothing happened
}
_UUIDS_AND_TIMES = ("id", "issuer_id", "attestation_id", "receipt_id", "created_at", "issued_at", "expiry_at")


def find_believed(lab: Installation, bundle: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Change each member of a bundle; the places that are believed with another value, and those that may be empty."""
    tried = 0
    believed: tuple[set[str], set[str]] = set(), set()
    for place in places(bundle):
        for value in others(at(bundle, place)):
            if value == at(bundle, place) or is_same_value(place, value, at(bundle, place)):
                continue
            tried += 1
            if verdict(lab, changed(bundle, place, value)) is Verdict.VALID:
                believed[value in (None, {}, [])].add(place)
    assert tried > 300
    return believed


def is_same_value(place: str, value: Any, before: Any) -> bool:
    """A UUID is the same in capitals (RFC 9562), and a time in small letters (RFC 3339)."""
    is_text = place.rpartition("/")[2] in _UUIDS_AND_TIMES and isinstance(value, str)
    return is_text and value.lower() == str(before).lower()


def verdict(lab: Installation, document: Any) -> Verdict | None:
    """The verdict over a bundle; None where it cannot even be read."""
    try:
        return verify_bundle(Bundle.parse(document), trust=lab.trust, now=lab.clock.now()).verdict
    except AttestLabError:
        return None


def places(value: Any, where: str = "") -> Iterator[str]:
    """A JSON Pointer to everything that stands in a document."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in members:
        yield f"{where}/{name}"
        yield from places(inner, f"{where}/{name}")


def others(value: Any) -> Iterator[Any]:
    """Values that differ from this one, and look like it."""
    if isinstance(value, str):
        yield from (value[:-1], value + "A", "", value.swapcase(), flipped(value, 0), flipped(value, len(value) // 2))
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, 0, -value, 2**63)
    elif isinstance(value, list):
        yield from (value[:-1], [*value, *value[:1]], value[::-1], [])
    yield from (None, {}, [], "x", 0)


def flipped(text: str, at: int) -> str:
    return text[:at] + ("B" if text[at : at + 1] != "B" else "C") + text[at + 1 :]


def changed(document: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    copied = copy.deepcopy(document)
    *path, last = place[1:].split("/")
    holder: Any = copied
    for name in path:
        holder = holder[int(name)] if isinstance(holder, list) else holder[name]
    holder[int(last) if isinstance(holder, list) else last] = value
    return copied


def at(document: Any, place: str) -> Any:
    for name in place[1:].split("/"):
        document = document[int(name)] if isinstance(document, list) else document[name]
    return document
