"""A log of the test's own, which proves whatever entries a bundle is given: what only the log's owner could forge."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import b64_decode, b64_encode
from attestlab.core.strict_json import parse_json
from attestlab.log.entries import sha256_name
from attestlab.log.merkle.hashing import leaf_hash
from attestlab.log.merkle.tree import TileCache, Tree, TreeReader
from attestlab.log.note.note import NoteSigner, TreeHead, sign_checkpoint
from attestlab.log.note.trust_policy import TrustPolicy

SIGNER = NoteSigner("own.example/log", Ed25519PrivateKey.from_private_bytes(bytes([7]) * 32))
TRUST_TEXT = f"log {SIGNER.vkey}\nquorum none\n"
TRUST = TrustPolicy.parse(TRUST_TEXT)
AT_S = 1_795_262_400
COPIES = ("tree_size", "root_hash", "leaf_hash", "signature", "timestamp", "cosignatures")
PLACES = ("log_entry", "attestation", "key/first", "key/newest", "issuer/first", "issuer/newest", "list/entry")


def log_again(
    document: Mapping[str, Any], entries: Mapping[str, bytes] | None = None, *, at_s: int = AT_S
) -> dict[str, Any]:
    """The bundle, proven by this log instead of the log that made it, with other `entries` at some of its PLACES.

    The first entry of a chain is also its newest where there is no other.
    """
    logged = copy.deepcopy(dict(document))
    size = logged["inclusion_proof"]["tree_size"]
    leaves = [b"an entry of others"] * size
    shown = dict(find_entries(logged))
    for holder, index in shown.values():
        leaves[index] = b64_decode(holder["entry_b64"])
    for place, entry in (entries or {}).items():
        leaves[shown[place][1]] = entry
    tree = build_tree(leaves)
    for place, (holder, index) in shown.items():
        holder["entry_b64"] = b64_encode(leaves[index])
        target = logged["inclusion_proof"] if place == "log_entry" else holder
        target["hashes"] = [sha256_name(value) for value in tree.inclusion(index)]
    note = sign_checkpoint(SIGNER, TreeHead(SIGNER.vkey.name, size, tree.root), at_s=at_s)
    logged["signed_tree_head"] = {"checkpoint": note}
    logged["inclusion_proof"] = {k: v for k, v in logged["inclusion_proof"].items() if k not in COPIES}
    logged.pop("tlog_proof", None)
    return logged


def find_entries(document: dict[str, Any]) -> Iterator[tuple[str, tuple[dict[str, Any], int]]]:
    """Each entry of a bundle: its place, the object that holds it, and its index."""
    yield "log_entry", (document["log_entry"], document["inclusion_proof"]["log_index"])
    for place in PLACES[1:]:
        holder: Any = document["status_proof"]
        for name in place.split("/"):
            holder = holder and holder[name]
        if holder is not None:
            yield place, (holder, holder["log_index"])


def change_entry(document: dict[str, Any], place: str, **members: Any) -> bytes:
    """The entry at a place, with other members."""
    found = parse_json(b64_decode(dict(find_entries(document))[place][0]["entry_b64"]))
    assert isinstance(found, dict)
    return canonical({**found, **members})


def build_tree(leaves: list[bytes]) -> TreeReader:
    """The tree of these entries, of which there are too few for a full tile."""
    tree = Tree().with_leaves([leaf_hash(leaf) for leaf in leaves]).tree
    return TreeReader(tree, tree.size, cache=TileCache(), fetch=_no_tile)


def _no_tile(level: int, index: int) -> bytes:
    raise AssertionError(f"tile {level}/{index} is not full")
