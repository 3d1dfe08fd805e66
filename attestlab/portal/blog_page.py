"""The pages of the blog, and its feed (Atom, RFC 4287)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup

from attestlab.blog.markdown import render_markdown, to_feed_text
from attestlab.blog.rules import MEDIA_PATH, PostCategory, find_medium
from attestlab.blog.tables import BlogPostRecord
from attestlab.portal.layout import Html, render_page, render_text

_CACHE_SIZE = 64
_MEDIA = "media/"  # as seen from the page of a post


class Link(NamedTuple):
    """A link to another page of the list."""

    words: str
    query: str


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
def post_page(row: BlogPostRecord, *, url: str) -> Html:
    """Render the page of a post; the same state of a post has the same page, so that it is rendered once."""
    return render_page(
        "blog_post.html",
        root="../",
        post=_view(row, media=_MEDIA),
        content=render_markdown(row.content, media=_MEDIA),
        url=url,
    )


def feed(posts: Sequence[BlogPostRecord], *, portal_url: str) -> bytes:
    """Render the feed of published posts, newest publication first."""
    entries = [
        {
            **_view(row, media=MEDIA_PATH),
            "html": to_feed_text(render_markdown(row.content, media=f"{portal_url}{MEDIA_PATH}")),
        }
        for row in posts
    ]
    updated = max((row.updated_at for row in posts), default=None)
    return render_text("blog_feed.xml", entries=entries, updated=updated, portal_url=portal_url).encode("utf-8")


def _view(row: BlogPostRecord, *, media: str) -> dict[str, object]:
    """Return what templates show of a post; a cover of another host is named, but never loaded by a page."""
    medium = None if row.cover_image_url is None else find_medium(row.cover_image_url)
    return {
        **row._asdict(),
        "tags": json.loads(row.tags),
        "cover": None if medium is None else Markup(f"{media}{medium}"),
        "minutes": max(1, round(len(row.content.split()) / 220)),
    }
