"""Wire models of the blog (CONTRACT 11.7)."""

from typing import Annotated

from pydantic import Field, StringConstraints

from attestlab.blog.rules import MAX_COVER_LENGTH, SLUG_FORM, PostCategory, PostStatus
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, omit_default, one_of
from attestlab.web.paging import PageQuery

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Slug = Annotated[str, StringConstraints(pattern=SLUG_FORM)]
Excerpt = Annotated[str, StringConstraints(max_length=500)]
Cover = Annotated[str, StringConstraints(min_length=1, max_length=MAX_COVER_LENGTH)]
Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=32)]
Tags = Annotated[list[Tag], Field(max_length=10)]
CategoryName = Annotated[str, one_of(PostCategory)]
PostStatusName = Annotated[str, one_of(PostStatus)]


class BlogPostIn(In, source="CONTRACT 11.7"):
    """A new post, which begins as a draft."""

    title: Title
    """Its title. Format: one line, 1-200 characters."""
    category: PostCategory
    """What it is about. Format: engineering, product, security, company or industry."""
    content: str
    """Its text. Format: Markdown without HTML, at most 512 KiB."""
    slug: Slug | None = None
    """The end of its address; derived from the title if left out. Format: 1-96 of a-z 0-9 -."""
    excerpt: Excerpt = ""
    """What lists and feeds show of it. Format: text, at most 500 characters."""
    cover_image_url: Cover | None = None
    """Its picture. Format: absolute https URL or /blog/media/<sha256>, at most 2048 characters."""
    tags: Tags = Field(default=[])
    """Its tags. Format: at most 10, each 1-32 characters."""


class BlogPostPatch(In, wire_name="blog_post_update", source="SPEC PUT /v1/platform/blog/posts/{id}"):
    """Changes of a post; a field that is left out stays as it is."""

    title: Title = Field(default="", json_schema_extra=omit_default)
    """Its title. Format: one line, 1-200 characters."""
    slug: Slug = Field(default="", json_schema_extra=omit_default)
    """The end of its address; the address before leads to the new one. Format: 1-96 of a-z 0-9 -."""
    category: PostCategory = Field(default=PostCategory.ENGINEERING, json_schema_extra=omit_default)
    """What it is about. Format: engineering, product, security, company or industry."""
    content: str = Field(default="", json_schema_extra=omit_default)
    """Its text. Format: Markdown without HTML, at most 512 KiB."""
    excerpt: Excerpt = Field(default="", json_schema_extra=omit_default)
    """What lists and feeds show of it. Format: text, at most 500 characters."""
    cover_image_url: Cover | None = Field(default=None, json_schema_extra=omit_default)
    """Its picture; null removes it. Format: absolute https URL or /blog/media/<sha256>, at most 2048 characters."""
    tags: Tags = Field(default=[], json_schema_extra=omit_default)
    """Its tags, which replace those that it has. Format: at most 10, each 1-32 characters."""


class BlogPostsQuery(PageQuery, Filters, wire_name="blog_posts_query", source="CONTRACT 11.7"):
    """Filters of the editors' list of posts."""

    status: Annotated[PostStatus | None, Where("status")] = None
    """Only posts in this state. Format: draft, published or archived."""
    category: Annotated[PostCategory | None, Where("category")] = None
    """Only posts of this category. Format: engineering, product, security, company or industry."""
    tag: Annotated[Tag | None, NO_CONDITION] = None
    """Only posts with this tag. Format: 1-32 characters."""
    q: Annotated[str | None, StringConstraints(min_length=1, max_length=200), NO_CONDITION] = None
    """Only posts with this text in title, excerpt or content; the case of a-z is ignored. Format: 1-200 characters."""


class PublicPostsQuery(PageQuery, Filters, wire_name="public_blog_posts_query", source="CONTRACT 11.7"):
    """Filters of the public list of posts."""

    category: Annotated[PostCategory | None, Where("category")] = None
    """Only posts of this category. Format: engineering, product, security, company or industry."""
    tag: Annotated[Tag | None, NO_CONDITION] = None
    """Only posts with this tag. Format: 1-32 characters."""


class BlogMediumIn(In, wire_name="blog_medium_input", source="CONTRACT 11.7"):
    """A picture to upload; its type is read from its bytes, and any but PNG, JPEG and WebP is a 415."""

    content_b64url: Annotated[str, StringConstraints(min_length=1)]
    """The picture: PNG, JPEG or WebP. Format: base64url, at most 512 KiB decoded."""


class BlogMediumOut(Out, wire_name="blog_medium", source="CONTRACT 11.7"):
    """An uploaded picture."""

    url: str
    """Its address, for covers and Markdown. Format: /blog/media/<sha256>."""


class BlogAuthorOut(Out, wire_name="blog_author", source="CONTRACT 11.7"):
    """Who wrote a post."""

    id: str
    """The person. Format: UUID, 36 characters, or the name of a service."""
    name: str
    """Their name when they wrote it. Format: 1-200 characters."""


class BlogPostSummaryOut(Out, wire_name="blog_post_summary", source="CONTRACT 11.7"):
    """A post in a list, without its text."""

    id: Uuid
    """The post. Format: UUID, 36 characters."""
    title: str
    """Its title. Format: 1-200 characters."""
    slug: str
    """The end of its address. Format: 1-96 of a-z 0-9 -."""
    category: CategoryName
    """What it is about. Format: engineering, product, security, company or industry."""
    excerpt: str
    """What lists and feeds show of it. Format: text, at most 500 characters."""
    cover_image_url: str | None
    """Its picture. Format: absolute https URL or /blog/media/<sha256>."""
    tags: list[str]
    """Its tags. Format: at most 10, each 1-32 characters."""
    status: PostStatusName
    """Its state. Format: draft, published or archived."""
    author: BlogAuthorOut
    """Who wrote it."""
    published_at: Moment | None
    """When it was first published; null for one that never was. Format: RFC 3339 date-time, UTC, milliseconds."""
    created_at: Moment
    """When it was written. Format: RFC 3339 date-time, UTC, milliseconds."""
    updated_at: Moment
    """When it last changed. Format: RFC 3339 date-time, UTC, milliseconds."""
    url: str
    """Its page. Format: absolute URL."""


class BlogPostOut(BlogPostSummaryOut, wire_name="blog_post", source="CONTRACT 11.7"):
    """A post."""

    content: str
    """Its text. Format: Markdown, at most 512 KiB."""


class BlogPostUpdateOut(Out, wire_name="updated_blog_post", source="SPEC PUT /v1/platform/blog/posts/{id}"):
    """What an update answers."""

    id: Uuid
    """The post. Format: UUID, 36 characters."""
    status: PostStatusName
    """Its state. Format: draft, published or archived."""
    updated_at: Moment
    """When it last changed. Format: RFC 3339 date-time, UTC, milliseconds."""
    slug: str
    """The end of its address. Format: 1-96 of a-z 0-9 -."""
