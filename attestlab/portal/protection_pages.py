"""Pages of protections: the owner's own, and the public one of a consumer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from attestlab.delivery.share_links import Links
from attestlab.portal import consumer_page
from attestlab.portal.consumer_session import PageSession
from attestlab.portal.layout import Html, render_page
from attestlab.portal.page_forms import FormProblem
from attestlab.protections.service import Portfolio
from attestlab.protections.store import AttestedProtection
from attestlab.web.etags import strong_etag

_CACHE_SIZE: Final = 64
EMPTY_FORM: Final = {
    **dict.fromkeys(("content_hash", "title", "description", "file_name", "file_size"), ""),
    "content_type": "other",
    "category": "general",
    "visibility": "private",
}


def protect_page(
    found: Sequence[AttestedProtection],
    *,
    session: PageSession,
    sent: Mapping[str, str],
    problem: FormProblem | None,
    next_query: str | None,
    links: Links,
    now: datetime,
) -> Html:
    """Render the owner's page: the form for another protection, with what was sent, and the list of those that exist.

    The owner's links have the share keys.
    """
    return consumer_page.render(
        "protect.html",
        session=session,
        problem=problem,
        sent=sent or EMPTY_FORM,
        protections=[_view(each, each.status(now).value, key=links.share_key(each.attestation_id)) for each in found],
        next_query=next_query,
    )


@lru_cache(_CACHE_SIZE)
def portfolio_page(portfolio: Portfolio, *, shown: int, at: datetime, next_query: str | None, portal_url: str) -> Html:
    """Render the public page of a consumer with its first `shown` entries; `next_query` leads to older ones.

    Its links have no share key. The same state of a portfolio has the same page, so that it is rendered once.
    """
    account = portfolio.account
    page = render_page(
        "consumer/portfolio.html",
        root="../",
        user={"name": account.name, "username": account.username, "bio": account.bio},
        summary=account.bio or f"What {account.name} protects and shows.",
        protections=[_view(each, each.status(at).value) for each in portfolio.protections[:shown]],
        next_query=next_query,
        page_url=f"{portal_url}/u/{account.username}",
    )
    return page._replace(headers={**page.headers, "ETag": strong_etag(page.body)})


def _view(found: AttestedProtection, status: str, *, key: str | None = None) -> Mapping[str, object]:
    page = f"a/{found.attestation_id}"
    return {
        **found.row._asdict(),
        "link": page if key is None else f"{page}?k={key}",
        "verification_count": found.verification_count,
        "attestation_status": status,
    }
