"""Rendering of items as wire models."""

from __future__ import annotations

import json
from datetime import datetime

from attestlab.attestations.inbox.service import InboxItemDetail
from attestlab.attestations.inbox.shapes import InboxItemDetailOut, InboxItemOut
from attestlab.attestations.inbox.store import InboxEntry
from attestlab.attestations.rendering import render_attestation
from attestlab.attestations.rules import Status, compute_current_status
from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.share_links import Links


def _show_metadata(entry: InboxEntry) -> object:
    """Return what the issuer sent for the recipient; by default what the issuer's name and the schema tell."""
    if entry.safe_metadata is not None:
        return json.loads(entry.safe_metadata)
    title = CATALOGUE[entry.schema_id].title
    return {"schema": entry.schema_id, "issuer_name": entry.issuer_name, "title": title}


_computed = ["attestation_status", "share_url"]
_render_item = RowRenderer(
    InboxItemOut, InboxEntry, computed=_computed, delivery_state="state", safe_metadata=_show_metadata
)
_render_detail = RowRenderer(
    InboxItemDetailOut,
    InboxEntry,
    computed=[*_computed, "attestation"],
    delivery_state="state",
    safe_metadata=_show_metadata,
)


def render_item(entry: InboxEntry, *, links: Links, now: datetime) -> InboxItemOut:
    """Render an item with the status of its attestation as of `now`."""
    return _render_item(entry, **_compute(entry, links, now))


def render_detail(detail: InboxItemDetail, *, links: Links, now: datetime) -> InboxItemDetailOut:
    """Render an item with its attestation."""
    row = detail.attestation
    attestation = None if row is None else render_attestation(row, now=now)
    return _render_detail(detail.entry, attestation=attestation, **_compute(detail.entry, links, now))


def _compute(entry: InboxEntry, links: Links, now: datetime) -> dict[str, object]:
    status = compute_current_status(Status(entry.status), entry.expiry_at, now=now)
    return {"attestation_status": status, "share_url": links.share_url(entry.attestation_id)}
