"""HTTP routes of the blog: those of its editors, the public lists, and pictures."""

import json
from uuid import UUID

from attestlab.blog.paging import LIST as PUBLIC_LIST
from attestlab.blog.paging import read_place, write_place
from attestlab.blog.rules import MEDIA_PATH, PostStatus
from attestlab.blog.service import Blog, version_of
from attestlab.blog.shapes import (
    BlogAuthorOut,
    BlogMediumIn,
    BlogMediumOut,
    BlogPostIn,
    BlogPostOut,
    BlogPostPatch,
    BlogPostsQuery,
    BlogPostSummaryOut,
    BlogPostUpdateOut,
    PublicPostsQuery,
)
from attestlab.blog.tables import BlogPostRecord
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_decode
from attestlab.core.errors import Conflict, NotFound
from attestlab.core.pictures import JPEG, PNG, WEBP
from attestlab.core.row_rendering import RowRenderer
from attestlab.orgs.rules import Caller, Role
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC, users_with
from attestlab.web.routing.routes import Routes

routes = Routes("blog")
EDITORS = users_with([Role.CONTENT_ADMIN, Role.SUPER_ADMIN])
_LIST = "blog_posts"
_BODY_LIMIT_BYTES = 4 * 1024 * 1024  # the text alone may have 512 KiB, which JSON may write six times as long
_IMMUTABLE = "public, max-age=31536000, immutable"
_PICTURE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_computed = {
    "tags": lambda row: json.loads(row.tags),
    "author": lambda row: BlogAuthorOut(id=row.author_id, name=row.author_name),
}
_render_post = RowRenderer(BlogPostOut, BlogPostRecord, computed=["url"], parts={}, **_computed)
_render_summary = RowRenderer(BlogPostSummaryOut, BlogPostRecord, computed=["url"], parts={}, **_computed)
_render_update = RowRenderer(BlogPostUpdateOut, BlogPostRecord)


@routes.post(
    "/v1/platform/blog/posts",
    scope=EDITORS,
    status=201,
    body_limit=_BODY_LIMIT_BYTES,
    headers=("Location", "ETag"),
    raises=(Conflict,),
)
def create_blog_post(request: Request, body: BlogPostIn, tx: Transaction, caller: Caller, blog: Blog) -> BlogPostOut:
    """Write a post, which begins as a draft.

    Without a slug it gets one from its title. A slug that another post has, or had while it was public, is a 409.
    """
    row = blog.create(body, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/platform/blog/posts/{row.id}"
    return _show(row, request, blog)


@routes.get("/v1/platform/blog/posts", scope=EDITORS)
async def list_blog_posts(query: BlogPostsQuery, blog: Blog, executor: Executor) -> Page[BlogPostSummaryOut]:
    """List posts of any state, newest first, without their texts.

    Filters are combined; `q` looks for a text in title, excerpt and content.
    """
    before = decode_id(_LIST, query.cursor)
    found = await executor.run_in_thread(lambda: blog.page(query, before=before, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [str(row.id)])
    return Page[BlogPostSummaryOut](
        items=[_render_summary(row, url=blog.url(row.slug)) for row in shown], next_cursor=cursor
    )


@routes.get("/v1/platform/blog/posts/{id}", scope=EDITORS)
def get_blog_post(request: Request, id: UUID, blog: Blog) -> BlogPostOut:
    """Get a post in any state.

    Its ETag, sent back as If-Match of a PUT, keeps two editors from overwriting each other's changes.
    """
    return _show(blog.get(id), request, blog)


@routes.put(
    "/v1/platform/blog/posts/{id}",
    scope=EDITORS,
    body_limit=_BODY_LIMIT_BYTES,
    conditional=True,
    headers=("ETag",),
    raises=(Conflict,),
)
def update_blog_post(
    request: Request, id: UUID, body: BlogPostPatch, tx: Transaction, caller: Caller, blog: Blog
) -> BlogPostUpdateOut:
    """Change the given fields of a post; tags replace those that it has.

    A new slug of a public post changes its address, and the old one leads to it. With `If-Match`, a post that was
    changed since is a 409 with the reason `stale`.
    """
    row = blog.update(id, body, if_match=request.header("If-Match"), caller=caller, tx=tx)
    request.respond_headers["ETag"] = version_of(row)
    return _render_update(row)


@routes.delete("/v1/platform/blog/posts/{id}", scope=EDITORS, status=204, raises=(Conflict,))
def remove_blog_post(id: UUID, tx: Transaction, caller: Caller, blog: Blog) -> None:
    """Delete a draft; a post that was public is a 409.

    Archive a public post instead: its address stays its own.
    """
    blog.delete(id, caller=caller, tx=tx)


@routes.post("/v1/platform/blog/posts/{id}/publish", scope=EDITORS, headers=("ETag",), raises=(Conflict,))
def publish_blog_post(request: Request, id: UUID, tx: Transaction, caller: Caller, blog: Blog) -> BlogPostOut:
    """Publish a draft, or an archived post again.

    Its time of publication is that of the first time.
    """
    return _show(blog.publish(id, caller=caller, tx=tx), request, blog)


@routes.post("/v1/platform/blog/posts/{id}/archive", scope=EDITORS, headers=("ETag",), raises=(Conflict,))
def archive_blog_post(request: Request, id: UUID, tx: Transaction, caller: Caller, blog: Blog) -> BlogPostOut:
    """Take a published post off the pages, the lists and the feed.

    Its page says that it is gone (410).
    """
    return _show(blog.archive(id, caller=caller, tx=tx), request, blog)


@routes.post("/v1/platform/blog/media", scope=EDITORS, status=201, headers=("Location",))
def upload_blog_medium(
    request: Request, body: BlogMediumIn, tx: Transaction, caller: Caller, blog: Blog
) -> BlogMediumOut:
    """Upload a picture for covers and texts: PNG, JPEG or WebP of at most 512 KiB.

    Pages load nothing from other hosts, so they show these alone. The same bytes have the same address.
    """
    row = blog.upload(b64url_decode(body.content_b64url, field="/content_b64url"), caller=caller, tx=tx)
    address = f"{MEDIA_PATH}{row.sha256}"
    request.respond_headers["Location"] = address
    return BlogMediumOut(url=address)


@routes.get("/v1/blog/posts", scope=PUBLIC)
async def list_published_blog_posts(
    query: PublicPostsQuery, blog: Blog, executor: Executor
) -> Page[BlogPostSummaryOut]:
    """List published posts, newest publication first.

    They come without their texts; drafts and archived posts are left out.
    """
    after = None if query.cursor is None else read_place(query.cursor)
    found = await executor.run_in_thread(lambda: blog.page_published(query, after=after, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=PUBLIC_LIST, position=write_place)
    return Page[BlogPostSummaryOut](
        items=[_render_summary(row, url=blog.url(row.slug)) for row in shown], next_cursor=cursor
    )


@routes.get("/v1/blog/posts/{slug}", scope=PUBLIC)
def get_published_blog_post(request: Request, slug: str, blog: Blog) -> BlogPostOut:
    """Get a published post by its slug, or by one that it had before.

    The answer has its present slug. Drafts and archived posts are a 404.
    """
    row = blog.find(slug)
    if row.status != PostStatus.PUBLISHED:
        raise NotFound("blog post", slug)
    return _show(row, request, blog)


@routes.get(
    MEDIA_PATH + "{sha256}",
    scope=PUBLIC,
    page=True,
    cache_control=_IMMUTABLE,
    produces=dict.fromkeys((PNG, JPEG, WEBP), bytes),
)
def get_blog_medium(sha256: str, blog: Blog) -> RawResponse:
    """Get a picture of the blog, with headers that forbid it to load or run anything.

    Its address is the SHA-256 of its bytes, so it may be cached for good.
    """
    row = blog.get_medium(sha256)
    return RawResponse(row.content, row.media_type, _PICTURE_HEADERS)


def _show(row: BlogPostRecord, request: Request, blog: Blog) -> BlogPostOut:
    request.respond_headers["ETag"] = version_of(row)
    return _render_post(row, url=blog.url(row.slug))
