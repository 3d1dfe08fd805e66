"""Scores follow `occurred_at`: late and replayed logins, and what they may not change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.risk.logins.detector import LoginAssessment, LoginDetector
from attestlab.risk.logins.documents import MemoryDocuments, SourceActivity
from attestlab.risk.logins.login import Login
from support.logins import FAILURE, MONDAY, SUCCESS, Tenant, TestPlaces, home_of

LOGINS = st.builds(
    Login,
    subject_id=st.sampled_from(["ada", "ben", "cem", "dia"]),
    outcome=st.sampled_from([SUCCESS, SUCCESS, FAILURE]),
    occurred_at=st.integers(0, 6 * 24 * 60).map(lambda minutes: MONDAY + timedelta(minutes=minutes)),
    ip=st.sampled_from(["10.0.0.1", "10.0.0.2", "11.0.0.1", "100.0.0.1", "101.0.0.1", None]),
    device_id=st.sampled_from(["pc", "phone", "stranger", None]),
)


def assess_all(logins: list[Login]) -> Iterator[LoginAssessment]:
    detector, store = LoginDetector(TestPlaces()), MemoryDocuments()
    for login in logins:
        yield detector.assess(login, store)


@given(st.lists(LOGINS, min_size=2, max_size=40), st.data())
@settings(deadline=None)
def test_a_late_login_gets_the_score_that_it_would_have_got_in_time(logins: list[Login], data: st.DataObject):
    """What happened after it, but arrived before it, does not count."""
    logins = sorted(logins, key=lambda login: login.occurred_at)
    moved = data.draw(st.integers(0, len(logins) - 1))
    late = logins[moved]
    later = [login for login in logins[moved + 1 :] if login.occurred_at > late.occurred_at]

    in_time = list(assess_all([*logins[:moved], late]))[-1]
    arrived_last = list(assess_all([*logins[:moved], *later, late]))[-1]

    assert arrived_last == in_time


def test_a_device_that_is_learnt_later_does_not_excuse_an_earlier_failure():
    tenant, other = Tenant(), Tenant()
    for each in (tenant, other):
        now = each.settle(["ada", "ben"])
    for day in range(1, 4):
        tenant.assess("ada", SUCCESS, now + timedelta(days=day), home_of("ada"), "new-phone")

    late = tenant.assess("ada", FAILURE, now + timedelta(hours=3), "101.0.0.1", "new-phone")

    assert late == other.assess("ada", FAILURE, now + timedelta(hours=3), "101.0.0.1", "new-phone")
    assert late.score > 10


@given(st.lists(LOGINS, max_size=40))
@settings(deadline=None)
def test_a_replay_of_the_history_gives_the_same_scores(logins: list[Login]):
    assert list(assess_all(logins)) == list(assess_all(logins))


@given(st.lists(LOGINS, min_size=1, max_size=30))
@settings(deadline=None)
def test_an_evaluation_changes_none_of_the_documents_given(logins: list[Login]):
    detector, store = LoginDetector(TestPlaces()), MemoryDocuments()
    for login in logins[:-1]:
        detector.assess(login, store)
    before = {key: document.to_json() for key, document in store.documents.items()}

    detector.evaluate(logins[-1], store.documents)

    assert {key: document.to_json() for key, document in store.documents.items()} == before


@given(st.lists(st.tuples(st.integers(0, 30), LOGINS), max_size=25, unique_by=lambda pair: pair[0]), st.randoms())
@settings(deadline=None)
def test_sources_remember_the_same_strangers_in_any_order_of_arrival(pairs: list[tuple[int, Login]], random: Random):
    failures = [
        replace(login, outcome=FAILURE, occurred_at=MONDAY + timedelta(hours=2 * slot)) for slot, login in pairs
    ]
    stores = MemoryDocuments(), MemoryDocuments()
    for store, order in zip(stores, (failures, random.sample(failures, len(failures))), strict=True):
        for login in order:
            LoginDetector(TestPlaces()).assess(login, store)

    sources = {key: each for key, each in stores[0].documents.items() if isinstance(each, SourceActivity)}
    assert {key: stores[1].documents[key] for key in sources} == sources
