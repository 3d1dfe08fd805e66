"""Queries of the blog; every query names its columns and binds values as parameters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, or_, select

from attestlab.blog.rules import PostStatus
from attestlab.blog.shapes import BlogPostsQuery, PublicPostsQuery
from attestlab.blog.tables import (
    BlogMedium,
    BlogMediumRecord,
    BlogPost,
    BlogPostRecord,
    BlogSlug,
)
from attestlab.core.db.conditions import holds_text
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, table_of
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions

posts = table_of(BlogPost)
slugs = table_of(BlogSlug)
media = table_of(BlogMedium)

_IS_THERE = posts.c.deleted_at.is_(None)


class Place(NamedTuple):
    """The place of a post in the public list: newest publication first."""

    published_at: datetime
    id: UUID


def get(execute: Execute, post_id: UUID) -> BlogPostRecord:
    """Return a post.

    Raises:
        NotFound: there is no such post, or it was deleted.
    """
    row = fetch_one(execute(select(*posts.c).where(posts.c.id == post_id, _IS_THERE)), BlogPostRecord)
    if row is None:
        raise NotFound("blog post", post_id)
    return row


def find_by_slug(execute: Execute, slug: str) -> BlogPostRecord | None:
    """Return the post that has this slug, or was public under it."""
    of_slug = select(slugs.c.post_id).where(slugs.c.slug == slug).scalar_subquery()  # with IN, PostgreSQL scans posts
    query = select(*posts.c).where(or_(posts.c.slug == slug, posts.c.id == of_slug), _IS_THERE)
    return fetch_one(execute(query), BlogPostRecord)


def has_slug(execute: Execute, slug: str) -> bool:
    """Return whether a post was public under this slug."""
    return execute(select(slugs.c.slug).where(slugs.c.slug == slug)).first() is not None


def page(connection: Connection, query: BlogPostsQuery, *, before: UUID | None, limit: int) -> Sequence[BlogPostRecord]:
    """List posts of any state, newest first."""
    found = _select(query, query.tag)
    if query.q is not None:
        found = found.where(or_(*(holds_text(posts.c[name], query.q) for name in ("title", "excerpt", "content"))))
    if before is not None:
        found = found.where(posts.c.id < before)
    return fetch_all(connection.execute(found.order_by(posts.c.id.desc()).limit(limit)), BlogPostRecord)


def page_published(
    connection: Connection, query: PublicPostsQuery, *, after: Place | None, limit: int
) -> Sequence[BlogPostRecord]:
    """List published posts, newest publication first."""
    found = _select(query, query.tag).where(posts.c.status == PostStatus.PUBLISHED.value)
    if after is not None:
        at, same_time = posts.c.published_at, posts.c.id < after.id
        found = found.where(or_(at < after.published_at, and_(at == after.published_at, same_time)))
    found = found.order_by(posts.c.published_at.desc(), posts.c.id.desc()).limit(limit)
    return fetch_all(connection.execute(found), BlogPostRecord)


def find_medium(execute: Execute, sha256: str) -> BlogMediumRecord | None:
    """Return a picture by the hash of its bytes."""
    return fetch_one(execute(select(*media.c).where(media.c.sha256 == sha256)), BlogMediumRecord)


def _select(query: BlogPostsQuery | PublicPostsQuery, tag: str | None) -> Select[tuple[object, ...]]:
    found = select(*posts.c).where(_IS_THERE, *build_conditions(query, posts.c))
    return found if tag is None else found.where(_has_tag(tag))


def _has_tag(tag: str) -> ColumnElement[bool]:
    """Look for a tag as it is: LIKE has wildcards, and ignores case on SQLite alone."""
    return func.replace(posts.c.tags, literal(encode_tags([tag])[1:-1]), "") != posts.c.tags


def encode_tags(tags: Sequence[str]) -> str:
    """Encode tags as a JSON array, in which a tag is found with its quotation marks."""
    return json.dumps(list(tags), ensure_ascii=False)
