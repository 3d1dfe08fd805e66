"""How the engines read the blog: lists, pages and the feed use an index on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from attestlab.blog import store
from attestlab.blog.shapes import BlogPostsQuery, PublicPostsQuery
from attestlab.blog.store import Place
from attestlab.installation import Installation
from support.query_plans import explain_queries, is_scanned, is_sorted

pytestmark = [pytest.mark.both_engines, pytest.mark.one_world]
AFTER = Place(datetime(2026, 11, 1, tzinfo=UTC), uuid4())


@pytest.mark.parametrize("query", [PublicPostsQuery(), PublicPostsQuery(tag="logs")])
@pytest.mark.parametrize("after", [None, AFTER])
def test_the_public_list_and_the_feed_read_published_posts_in_their_order(
    lab: Installation, query: PublicPostsQuery, after: Place | None
) -> None:
    plan = explain_queries(
        lab.storage, lambda connection: store.page_published(connection, query, after=after, limit=21)
    )

    assert ("ix_blog_posts_of_status" in plan, is_scanned(plan, "blog_posts"), is_sorted(plan)) == (True, False, False)


def test_a_page_is_found_by_its_slug_or_an_old_one(lab: Installation) -> None:
    plan = explain_queries(
        lab.storage, lambda connection: store.find_by_slug(connection.execute, "why-a-log"), with_bitmaps=True
    )

    assert [is_scanned(plan, table) for table in ("blog_posts", "blog_slugs")] == [False, False]


@pytest.mark.parametrize("before", [None, uuid4()])
def test_the_list_of_editors_is_read_in_the_order_of_ids(lab: Installation, before: object) -> None:
    plan = explain_queries(
        lab.storage,
        lambda connection: store.page(connection, BlogPostsQuery(), before=before, limit=51),  # type: ignore[arg-type]  # None or a UUID
    )

    assert (is_scanned(plan, "blog_posts"), is_sorted(plan)) == (False, False)
