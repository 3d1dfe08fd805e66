"""Cursors of the public list: the time of publication, and the post's id for posts of one moment."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from attestlab.blog.store import Place
from attestlab.blog.tables import BlogPostRecord
from attestlab.core.encoding import parse_uuid
from attestlab.web.paging import decode_position

LIST: Final = "published_blog_posts"


def write_place(row: BlogPostRecord) -> list[str]:
    """Write the place of a published post for a cursor."""
    published_at = row.published_at or row.created_at
    return [published_at.astimezone(UTC).isoformat(), str(row.id)]


def read_place(cursor: str) -> Place:
    """Read the place in a cursor, whose checksum shows that this service made it.

    Raises:
        ValidationFailed: it is not a cursor of this list.
    """
    at, post_id = map(str, decode_position(LIST, cursor))
    return Place(datetime.fromisoformat(at), parse_uuid(post_id))
