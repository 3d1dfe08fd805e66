"""Tree heads, checkpoints, proofs of inclusion and entries of the log as wire models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from attestlab.core.encoding import b64_encode
from attestlab.core.row_rendering import RowRenderer
from attestlab.log.entries import sha256_name
from attestlab.log.fsck_record import FsckSummary
from attestlab.log.results import InclusionProof, SignedHead
from attestlab.log.shapes import CheckpointOut, EntryOut, FsckOut, HeadOut, InclusionOut
from attestlab.log.tables import LogCheckpointRecord, LogLeafRecord

INCLUSION_SOURCES: Mapping[str, str | Callable[[InclusionProof], object]] = {
    "log_index": "index",
    "leaf_hash": lambda proof: sha256_name(proof.leaf_hash),
    "root_hash": lambda proof: sha256_name(proof.root),
    "hashes": lambda proof: [sha256_name(each) for each in proof.hashes],
}
render_inclusion = RowRenderer(InclusionOut, InclusionProof, computed=(), parts={}, **INCLUSION_SOURCES)
render_checkpoint = RowRenderer(
    CheckpointOut,
    LogCheckpointRecord,
    tree_size="size",
    root_hash=lambda row: sha256_name(row.root),
    checkpoint="note",
    timestamp="at",
)
render_entry = RowRenderer(
    EntryOut,
    LogLeafRecord,
    log_index="index",
    leaf_hash=lambda leaf: sha256_name(leaf.leaf_hash),
    type="kind",
    entry_b64=lambda leaf: b64_encode(leaf.entry),
    entry=lambda leaf: json.loads(leaf.entry),
)
render_fsck = RowRenderer(FsckOut, FsckSummary)
render_head = RowRenderer(
    HeadOut,
    SignedHead,
    computed=["last_fsck"],
    tree_size="size",
    root_hash=lambda head: sha256_name(head.root),
    checkpoint="note",
    timestamp="at",
)
