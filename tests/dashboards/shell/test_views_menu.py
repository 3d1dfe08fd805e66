"""The menu of saved views: whom it reads, and what it says when the service cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest

import attestlab
from attestlab import Lab
from attestlab.client.collections.people import PeopleCollection, PersonHandle
from attestlab.core.errors import PermissionDenied, Unavailable
from attestlab_dashboards.page_list import find_page
from attestlab_dashboards.together.views import draw_unread_views, draw_views, load_views, make_views_pane

PASSWORD = "only for the demo"


@pytest.fixture(scope="module")
def demo(caches: None) -> Iterator[Lab]:
    with attestlab.demo(history=False) as lab:
        yield lab


@pytest.fixture
def ann(demo: Lab) -> Iterator[Lab]:
    """The owner, whose views end with the test."""
    lab = demo.as_("ann@demo.example", password=PASSWORD)
    yield lab
    for view in list(lab.views):
        if view.owner_id == lab.me().id:
            lab.views.remove(view)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A line for each time that the tenant's people are read."""
    noted: list[int] = []
    read = PeopleCollection.__iter__

    def note(people: PeopleCollection) -> Iterator[PersonHandle]:
        noted.append(1)
        return read(people)

    monkeypatch.setattr(PeopleCollection, "__iter__", note)
    return noted


def find_ben(ann: Lab) -> UUID:
    return ann.people["ben@demo.example"].id


def test_own_views_without_a_report_to_others_read_no_people(ann: Lab, reads: list[int]) -> None:
    ann.views.save("Plain", "risk", "window=7d")
    ann.views.save("For me", "risk", "window=1d").send_by_mail(hour=7, recipients=ann.me().id)

    saved = load_views(ann, "risk")

    assert reads == []
    assert 'name="recipients" rows="2" required' in draw_views(saved, find_page("risk").state.from_query({})[0])
    assert "ann@demo.example</textarea>" in draw_views(saved, find_page("risk").state.from_query({})[0])


def test_a_report_to_others_reads_the_people_once(ann: Lab, reads: list[int]) -> None:
    ben = find_ben(ann)
    reads.clear()
    ann.views.save("For us", "risk", "window=7d").send_by_mail(hour=7, recipients=[ann.me().id, ben])

    saved = load_views(ann, "risk")
    drawn = draw_views(saved, find_page("risk").state.from_query({})[0])

    assert reads == [1]
    assert "ann@demo.example, ben@demo.example</textarea>" in drawn


def test_a_view_of_another_person_has_their_name(demo: Lab, ann: Lab, reads: list[int]) -> None:
    ben = demo.as_("ben@demo.example", password=PASSWORD)
    view = ben.views.save("Of all", "usage", "days=30", shared=True)

    drawn = draw_views(load_views(ann, "usage"), find_page("usage").state.from_query({})[0])
    ben.views.remove(view)

    assert reads == [1]
    assert "by Ben Okafor" in drawn


def test_a_service_that_cannot_be_read_closes_the_menu_with_a_sentence() -> None:
    pane = make_views_pane(find_page("risk"))
    assert pane.draw_unread is not None
    drawn = pane.draw_unread(Unavailable("The service took too long. Retry."))

    assert "The saved views could not be read, so none can be opened or saved now." in drawn
    assert "The service took too long. Retry." in drawn
    assert 'data-ev="retry" data-v="views"' in drawn
    assert "<form" not in drawn


def test_a_person_who_may_not_read_views_has_no_menu() -> None:
    assert draw_unread_views(PermissionDenied("You may not.")) == ""
