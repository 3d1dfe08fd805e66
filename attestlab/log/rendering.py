"""Tree heads, checkpoints and entries of the log as wire models."""

from __future__ import annotations

import base64
import json

from attestlab.core.row_rendering import RowRenderer
from attestlab.log.entries import sha256_name
from attestlab.log.fsck_record import FsckSummary
from attestlab.log.results import SignedHead
from attestlab.log.shapes import CheckpointOut, EntryOut, FsckOut, HeadOut
from attestlab.log.tables import LogCheckpointRecord, LogLeafRecord

_render_fsck = RowRenderer(FsckOut, FsckSummary)


def render_head(head: SignedHead, checked: FsckSummary | None) -> HeadOut:
    """Render a signed tree head with the newest check of the records."""
    return HeadOut(
        origin=head.origin,
        tree_size=head.size,
        root_hash=sha256_name(head.root),
        checkpoint=head.note,
        timestamp=head.at,
        last_fsck=None if checked is None else _render_fsck(checked),
    )


def render_checkpoint(row: LogCheckpointRecord) -> CheckpointOut:
    """Render a checkpoint of the log's history."""
    return CheckpointOut(tree_size=row.size, root_hash=sha256_name(row.root), checkpoint=row.note, timestamp=row.at)


def render_entry(leaf: LogLeafRecord) -> EntryOut:
    """Render an entry with its exact bytes."""
    return EntryOut(
        log_index=leaf.index,
        leaf_hash=sha256_name(leaf.leaf_hash),
        type=leaf.kind,
        entry_b64=base64.b64encode(leaf.entry).decode("ascii"),
        entry=json.loads(leaf.entry),
    )
