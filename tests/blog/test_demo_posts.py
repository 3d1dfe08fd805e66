"""The posts of the demo's year."""

from __future__ import annotations

from datetime import timedelta
from operator import attrgetter

from attestlab.blog.markdown import render_markdown
from attestlab.core.clock import FixedClock
from attestlab.demos.registry_year.year import list_posts
from attestlab.installation import Installation


def test_two_posts_are_public_one_was_archived_and_one_is_a_draft(lab: Installation, clock: FixedClock) -> None:
    actions = sorted(list_posts(lab, lab.operator_caller()), key=attrgetter("days_ago"), reverse=True)
    for action in actions:
        clock.advance(timedelta(days=1))
        with lab.storage.write() as tx:
            action.act(tx)

    posts = lab.blog.page()
    assert [(post.slug, post.status) for post in posts] == [
        ("year-in-numbers", "draft"),
        ("when-a-key-leaves", "published"),
        ("why-a-log", "published"),
        ("badges-as-svg", "archived"),
    ]
    published = lab.blog.page_published()
    assert all(post.cover_image_url and post.tags != "[]" for post in published)
    assert all(post.published_at == post.created_at for post in published)
    assert "<table>" in render_markdown(published[1].content)
