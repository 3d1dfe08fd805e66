"""HTTP routes of the blog's pages and of its feed. They need no script."""

from functools import partial
from urllib.parse import urlencode

from pydantic import ConfigDict

from attestlab.blog.paging import LIST, read_place, write_place
from attestlab.blog.rules import PostStatus
from attestlab.blog.service import Blog
from attestlab.blog.shapes import PublicPostsQuery
from attestlab.core.errors import Gone, NotFound
from attestlab.portal.page_forms import to_response
from attestlab.web.executor import Executor
from attestlab.web.paging import split_page
from attestlab.web.response import HTML, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("blog")
_PAGE_POSTS, _FEED_POSTS = 20, 30
_HTML_BODY = {"text/html": str}
_ATOM = "application/atom+xml; charset=utf-8"


class BlogPageQuery(PublicPostsQuery, wire_name="blog_page_query", source="CONTRACT 11.7"):
    """The query of the blog's page; parameters that other programs add are ignored."""

    model_config = ConfigDict(extra="ignore")


@routes.get("/blog", scope=PUBLIC, cache_control="no-cache", page=True, produces=_HTML_BODY)
async def get_blog_page(query: BlogPageQuery, blog: Blog, executor: Executor) -> RawResponse:
    """Get the page with the published posts, newest first, twenty at a time.

    It can be narrowed to a category or a tag.
    """
    from attestlab.portal import blog_page  # imports the template engine, which must not delay the start

    after = None if query.cursor is None else read_place(query.cursor)
    found = await executor.run_in_thread(lambda: blog.page_published(query, after=after, limit=_PAGE_POSTS + 1))
    shown, cursor = split_page(found, limit=_PAGE_POSTS, kind=LIST, position=write_place)
    kept = {"category": query.category, "tag": query.tag, "cursor": cursor}
    older = None if cursor is None else urlencode({name: value for name, value in kept.items() if value is not None})
    page = blog_page.list_page(shown, category=query.category, tag=query.tag, next_query=older)
    return to_response(page)


@routes.get("/blog/feed.xml", scope=PUBLIC, cache_control="no-cache", page=True, produces={"application/atom+xml": str})
async def get_blog_feed(blog: Blog, executor: Executor) -> RawResponse:
    """Get the newest thirty posts as a feed (Atom, RFC 4287), with their texts as far as they fit.

    Together they have at most 512 KiB of Markdown; of the posts after that, the feed has the excerpt.
    """
    from attestlab.portal import blog_page

    def render() -> bytes:
        return blog_page.feed(blog.page_published(limit=_FEED_POSTS), portal_url=blog.portal_url)

    return RawResponse(await executor.run_in_thread(render), _ATOM)


@routes.get(
    "/blog/{slug}",
    scope=PUBLIC,
    cache_control="no-cache",
    page=True,
    produces=_HTML_BODY,
    redirect="The post has another slug now: its page.",
    permanent=True,
    raises=(NotFound, Gone),
)
async def get_blog_post_page(slug: str, blog: Blog, executor: Executor) -> RawResponse:
    """Get the page of a published post.

    A slug that it had before leads to it with 301. An archived post is gone (410), and a draft is unknown.
    """
    from attestlab.portal import blog_page

    row = await executor.read_shared(blog.find, slug)
    if row.status == PostStatus.ARCHIVED:
        raise Gone("blog post", slug)
    if row.slug != slug:
        return RawResponse(b"", HTML, {"Location": row.slug}, status=301)
    render = partial(blog_page.post_page, row, portal_url=blog.portal_url)
    return to_response(await executor.run_inline(render))
