"""The playground: one bit of a bundle's copy flips, and the offline verifier shows what that breaks. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab_dashboards.log.proof_reading import BundleDocument
from attestlab_dashboards.log.state import Flip

_HEX: Final = "0123456789abcdef"
_COMMIT: Final = b'"commit":"sha256:'
_ORDINALS: Final = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


@dataclass(frozen=True)
class FlippedCopy:
    """A changed copy of a bundle's document; `what` says for people which bit was flipped."""

    document: BundleDocument  # JSON: each level has its own shape
    what: str
    place: int | None = None  # of the flipped hash in the path, from the leaf


def list_obstacles(document: BundleDocument) -> dict[Flip, str]:
    """List what cannot be flipped in a document, with the reason."""
    obstacles = {}
    if "attestation" not in document:
        obstacles = dict.fromkeys(
            (Flip.CLAIM, Flip.SIGNATURE), "The log has neither claims nor the issuer's signature."
        )
    elif _find_claim(document["attestation"]["payload"]["claims"]) is None:
        obstacles[Flip.CLAIM] = "No claim is a text or a number."
    if not document["inclusion_proof"]["hashes"]:
        obstacles[Flip.PATH] = "The tree has one entry, so the path is empty."
    return obstacles


def flip_copy(document: BundleDocument, flip: Flip) -> FlippedCopy | None:
    """Flip one bit in a copy of a bundle's document; None if there is nothing to flip, or no such bit."""
    if flip is Flip.NOTHING or flip in list_obstacles(document):
        return None
    copy = deepcopy(dict(document))
    return _FLIPS[flip](copy)


def _flip_claim(copy: dict[str, Any]) -> FlippedCopy:
    claims = copy["attestation"]["payload"]["claims"]
    name = str(_find_claim(claims))
    before = claims[name]
    claims[name] = _flip_text(before) if isinstance(before, str) else before ^ 1
    return FlippedCopy(copy, f"the claim {name}: {json.dumps(before)} became {json.dumps(claims[name])}")


def _find_claim(claims: Mapping[str, object]) -> str | None:
    """Find the first claim that has a bit to flip: a text with a plain letter or digit, or a whole number."""
    for name, value in claims.items():
        if isinstance(value, str) and _flip_text(value) is not None:
            return name
        if isinstance(value, int) and not isinstance(value, bool):
            return name
    return None


def _flip_text(text: str) -> str | None:
    """Flip the lowest bit of the first letter or digit that another one results from; None without such a sign."""
    for place, sign in enumerate(text):
        other = chr(ord(sign) ^ 1)
        if sign.isascii() and sign.isalnum() and other.isalnum():
            return f"{text[:place]}{other}{text[place + 1 :]}"
    return None


def _flip_signature(copy: dict[str, Any]) -> FlippedCopy:
    attestation = copy["attestation"]
    signed, _, signature = attestation["signature"].rpartition(".")
    attestation["signature"] = f"{signed}.{b64url_encode(_flip_first(b64url_decode(signature)))}"
    return FlippedCopy(copy, "the signature of the issuer")


def _flip_entry(copy: dict[str, Any]) -> FlippedCopy:
    """Flip a bit of the entry's bytes: of a mint in the commitment, so that the entry can still be read."""
    raw = bytearray(base64.b64decode(copy["log_entry"]["entry_b64"]))
    place = raw.find(_COMMIT)
    if place < 0:
        raw[len(raw) // 2] ^= 1
    else:
        raw[place + len(_COMMIT)] = _flip_hex(raw[place + len(_COMMIT)])
    copy["log_entry"]["entry_b64"] = base64.b64encode(bytes(raw)).decode()
    return FlippedCopy(copy, "the log entry")


def _flip_hex(digit: int) -> int:
    """Flip one bit of the ASCII code of a hex digit so that it remains a hex digit."""
    return next(digit ^ bit for bit in (1, 2, 4) if chr(digit ^ bit) in _HEX)


def _flip_path(copy: dict[str, Any]) -> FlippedCopy:
    hashes = copy["inclusion_proof"]["hashes"]
    place = len(hashes) // 2
    flipped = _flip_first(bytes.fromhex(hashes[place].removeprefix("sha256:")))
    copy["inclusion_proof"]["hashes"] = [*hashes[:place], f"sha256:{flipped.hex()}", *hashes[place + 1 :]]
    ordinal = _ORDINALS[place] if place < len(_ORDINALS) else f"{place + 1}th"
    return FlippedCopy(copy, f"the {ordinal} hash of the path", place)


def _flip_root(copy: dict[str, Any]) -> FlippedCopy:
    head = copy["signed_tree_head"]
    origin, size, root, rest = head["checkpoint"].split("\n", 3)
    flipped = base64.b64encode(_flip_first(base64.b64decode(root))).decode()
    head["checkpoint"] = "\n".join((origin, size, flipped, rest))
    return FlippedCopy(copy, "the root in the tree head")


def _flip_first(raw: bytes) -> bytes:
    return bytes((raw[0] ^ 1, *raw[1:]))


_FLIPS: Final[Mapping[Flip, Callable[[dict[str, Any]], FlippedCopy]]] = {
    Flip.CLAIM: _flip_claim,
    Flip.SIGNATURE: _flip_signature,
    Flip.ENTRY: _flip_entry,
    Flip.PATH: _flip_path,
    Flip.ROOT: _flip_root,
}
