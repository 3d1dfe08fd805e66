"""Pages of the inbox: the list of a consumer's attestations, and one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from attestlab.attestations.inbox.rendering import render_detail, render_item
from attestlab.attestations.inbox.service import InboxItemDetail
from attestlab.attestations.inbox.shapes import InboxFilter, InboxItemOut
from attestlab.attestations.inbox.store import InboxEntry
from attestlab.attestations.rules import Status
from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.delivery.share_links import Links
from attestlab.exports.badges import BADGES
from attestlab.portal import consumer_page
from attestlab.portal.consumer_session import PageSession
from attestlab.portal.layout import Html
from attestlab.portal.page_forms import FormProblem

_MAX_DETAILS = 20
_SHOWN_ELSEWHERE = frozenset({"title", "schema", "issuer_name"})


def inbox_page(
    entries: Sequence[InboxEntry],
    *,
    session: PageSession,
    listed: InboxFilter,
    next_query: str | None,
    links: Links,
    now: datetime,
) -> Html:
    """Render a page of the inbox, newest first; `next_query` leads to older items."""
    return consumer_page.render(
        "inbox.html",
        session=session,
        items=[_view(render_item(entry, links=links, now=now), entry) for entry in entries],
        read_state=listed.value,
        next_query=next_query,
    )


def item_page(
    detail: InboxItemDetail, *, session: PageSession, problem: FormProblem | None, links: Links, now: datetime
) -> Html:
    """Render the page of an item, with links to its verification, its bundle and its badge, which have the share key.

    Of a declined item it has no links, because the consumer does not hold the attestation any more.
    """
    entry = detail.entry
    page, key = f"../a/{entry.attestation_id}", links.share_key(entry.attestation_id)
    item = render_detail(detail, links=links, now=now)
    is_badge = entry.schema_id in BADGES and item.attestation_status is Status.VALID
    return consumer_page.render(
        "inbox_item.html",
        root="../",
        session=session,
        problem=problem,
        item=_view(item, entry),
        share_link=f"{page}?k={key}",
        bundle_link=f"{page}/bundle.json?k={key}",
        badge_link=f"{page}/open-badge?k={key}" if is_badge else None,
    )


def _view(item: InboxItemOut, entry: InboxEntry) -> Mapping[str, object]:
    title = item.safe_metadata.get("title")
    more = [(name, value) for name, value in item.safe_metadata.items() if name not in _SHOWN_ELSEWHERE]
    return {
        "id": str(item.id),
        "title": title if isinstance(title, str) and title.strip() else CATALOGUE[entry.schema_id].title,
        "issuer_name": item.issuer_name,
        "attestation_status": item.attestation_status.value,
        "delivery_state": item.delivery_state,
        "read_state": item.read_state,
        "created_at": item.created_at,
        "details": [(name, _show_value(value)) for name, value in more[:_MAX_DETAILS]],
    }


def _show_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
