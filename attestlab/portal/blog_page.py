"""The pages of the blog, and its feed (Atom, RFC 4287)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from markupsafe import Markup, escape

from attestlab.blog.markdown import render_markdown
from attestlab.blog.rules import MAX_CONTENT_BYTES, MEDIA_PATH, PostCategory, find_medium
from attestlab.blog.tables import BlogPostRecord
from attestlab.core.execution.long_work import require_long_work_allowed
from attestlab.portal.layout import Html, render_page, render_text
from attestlab.portal.rules import drop_non_xml

MAX_FEED_CHARS: Final = MAX_CONTENT_BYTES
"""How much Markdown of its posts a feed shows: as much as the longest text alone has."""
_CACHE_SIZE: Final = 64
_MEDIA = "media/"  # as seen from the page of a post


def list_page(
    posts: Sequence[BlogPostRecord], *, category: PostCategory | None, tag: str | None, next_query: str | None
) -> Html:
    """Render the list of published posts; `next_query` leads to older ones."""
    return render_page(
        "blog.html",
        root="./",
        posts=[_view(row, media="blog/media/") for row in posts],
        categories=[one.value for one in PostCategory],
        category=None if category is None else category.value,
        tag=tag,
        next_query=next_query,
    )


@lru_cache(_CACHE_SIZE)
def post_page(row: BlogPostRecord, *, portal_url: str) -> Html:
    """Render the page of a post; the same state of a post has the same page, so that it is rendered once."""
    return render_page(
        "blog_post.html",
        root="../",
        post=_view(row, media=_MEDIA),
        content=_render_content(row.content, media=_MEDIA),
        portal_url=portal_url,
    )


def feed(posts: Sequence[BlogPostRecord], *, portal_url: str) -> bytes:
    """Render the feed of published posts, newest publication first; texts are left out where they would be too many."""
    entries, left = [], MAX_FEED_CHARS
    for row in posts:
        left -= len(row.content)
        html = (
            None
            if left < 0
            else escape(drop_non_xml(str(_render_content(row.content, media=f"{portal_url}{MEDIA_PATH}"))))
        )
        entries.append({**_view(row, media=MEDIA_PATH), "html": html})
    updated = max((row.updated_at for row in posts), default=None)
    text = render_text("blog_feed.xml", entries=entries, updated=updated, portal_url=portal_url)
    return drop_non_xml(text).encode("utf-8")


@lru_cache(_CACHE_SIZE)
def _render_content(content: str, *, media: str) -> Markup:
    """Render a text once for each place that shows it: a long one takes seconds.

    Raises:
        TakesLong: other requests wait for this thread; render it in another.
    """
    require_long_work_allowed(lambda: _render_content(content, media=media))
    return render_markdown(content, media=media)


def _view(row: BlogPostRecord, *, media: str) -> dict[str, object]:
    """Return what templates show of a post; a cover of another host is named, but never loaded by a page."""
    medium = None if row.cover_image_url is None else find_medium(row.cover_image_url)
    return {
        **row._asdict(),
        "tags": json.loads(row.tags),
        "cover": None if medium is None else Markup(f"{media}{medium}"),
        "minutes": max(1, round(len(row.content.split()) / 220)),
    }
