"""Tables of the blog: posts, the slugs under which they were published, and pictures."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class BlogPostRecord(NamedTuple):
    """A post; `tags` is a JSON array of texts, and `content` is Markdown.

    Of a deleted draft only the row remains, without its texts; its id is its slug, so that others can have the slug.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    title: Annotated[str, Field(max_length=200)]
    slug: Annotated[str, Field(max_length=96, unique=True)]
    category: Annotated[str, Field(max_length=16)]
    content: str
    excerpt: Annotated[str, Field(max_length=500)]
    cover_image_url: Annotated[str | None, Field(max_length=2048)]
    tags: Annotated[str, Field(max_length=4096)]
    status: Annotated[str, Field(max_length=16)]
    author_id: Annotated[str, Field(max_length=64)]
    author_name: Annotated[str, Field(max_length=200)]
    created_at: datetime
    updated_at: datetime
    published_at: datetime | None = None
    deleted_at: datetime | None = None


@short_repr
class BlogSlugRecord(NamedTuple):
    """A slug under which a post was public; no other post can take it, so an old address never changes its meaning."""

    slug: Annotated[str, Field(max_length=96, primary_key=True)]
    post_id: Annotated[UUID, Field(foreign_key="blog_posts.id", index=True)]
    created_at: datetime


@short_repr
class BlogMediumRecord(NamedTuple):
    """A picture that posts may show; the same bytes are stored once."""

    sha256: Annotated[str, Field(max_length=64, primary_key=True)]
    media_type: Annotated[str, Field(max_length=16)]
    content: bytes
    created_at: datetime


BlogPost = model_of(BlogPostRecord, "blog_posts", Index("ix_blog_posts_of_status", "status", "published_at", "id"))
BlogSlug = model_of(BlogSlugRecord, "blog_slugs")
BlogMedium = model_of(BlogMediumRecord, "blog_media")
