"""Reads the public parts of a bundle's document: its entry, its audit path, and the tree head that it states."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from attestlab.client.handles.log import parse_hash
from attestlab.core.errors import ProofInvalid
from attestlab_dashboards.log.merkle_layout import AuditPath, build_path

BundleDocument = Mapping[str, Any]  # of a bundle, or of a public proof in the same shape


def read_entry(logged: BundleDocument) -> Mapping[str, object]:
    """Read the members of a logged entry; those of a changed copy may be unreadable, and then there are none."""
    try:
        members = json.loads(base64.b64decode(logged["entry_b64"]))
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


def read_path(document: BundleDocument) -> AuditPath:
    """Read the audit path of a document, and recompute its nodes.

    Raises:
        ProofInvalid: a hash is malformed, or the path has another length than index and size require.
    """
    proof = document["inclusion_proof"]
    try:
        size, root = read_note(document["signed_tree_head"]["checkpoint"])
        entry = base64.b64decode(document["log_entry"]["entry_b64"])
        return build_path(proof["log_index"], size, entry, tuple(parse_hash(each) for each in proof["hashes"]), root)
    except ValueError as error:
        raise ProofInvalid(f"The path cannot be read: {error}.") from error


def read_note(checkpoint: str) -> tuple[int, bytes]:
    """Read size and root of a checkpoint note, whose signatures are verified elsewhere.

    Raises:
        ValueError: the text is no checkpoint.
    """
    _origin, size, root, *_rest = checkpoint.split("\n")
    return int(size), base64.b64decode(root)


def describe_path(document: BundleDocument) -> Iterator[tuple[str, str]]:
    """Describe what step 7 compares: the leaf's hash, the computed root, and the root of the tree head."""
    try:
        path = read_path(document)
    except ProofInvalid as error:
        yield "path", error.message
        return
    yield "leaf hash", path.nodes[0].hex()
    yield "computed root", path.nodes[-1].hex()
    yield "signed root", path.root.hex()
    yield "tree", f"entry {path.index:,} of {path.size:,}, {len(path.siblings)} hashes"
