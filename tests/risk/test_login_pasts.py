"""A past of logins that is loaded teaches what a life through it teaches, however it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import NamedTuple

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from attestlab.core.clock import FixedClock
from attestlab.core.errors import Unavailable, ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.risk.account_takeover.backfill import PackedLogin
from attestlab.risk.account_takeover.store import documents, kept
from attestlab.risk.logins.circumstances import digest_key
from attestlab.risk.logins.detector import evaluate_trace
from attestlab.risk.logins.documents import MemoryDocuments
from attestlab.risk.logins.login import Login
from attestlab.risk.signals.store import signals
from support.login_pasts import (
    add_tenant,
    get_state,
    learn,
    learn_all,
    live_through,
    make_past,
    prune_all,
    read_documents,
    score_next,
    send,
)
from support.logins import CHROME, FAILURE, MONDAY, SUCCESS
from support.property_tests import examples

pytestmark = pytest.mark.one_world

Arrange = Callable[[Sequence[Login]], list[Sequence[Login]]]


def cut(logins: Sequence[Login]) -> list[Sequence[Login]]:
    return [logins[start : start + 40] for start in range(0, len(logins), 40)]


def shuffle(logins: Sequence[Login]) -> list[Sequence[Login]]:
    return cut(Random(3).sample(logins, len(logins)))


ARRANGEMENTS: dict[str, Arrange] = {
    "in order": lambda logins: [logins],
    "cut": cut,
    "backwards": lambda logins: cut(logins[::-1]),
    "shuffled": shuffle,
    "sent again": lambda logins: [*cut(logins), *shuffle(logins)],
}


@pytest.mark.both_engines
def test_a_past_in_any_order_teaches_what_a_life_through_it_teaches(lab: Installation, clock: FixedClock) -> None:
    logins = make_past(1, 150, clock.now())
    lived = add_tenant(lab, "Lived")
    live_through(lab, clock, lived, logins)

    for name, arrange in ARRANGEMENTS.items():
        loading = add_tenant(lab, f"Loads {name}")
        for part in arrange(logins):
            send(lab, loading, part)
            learn(lab, loading, is_quiet=False)
        learn_all(lab, loading)
        assert read_documents(lab, loading) == read_documents(lab, lived), name
        assert lab.risk.backfill.progress(caller=loading) == (150, 150)


class Request(NamedTuple):
    """Logins that are sent, and how many rows the learner takes in a slice before the next ones come; 0 if none."""

    logins: Sequence[Login]
    slice_rows: int
    is_quiet: bool


MINUTES = st.integers(0, 90) | st.integers(0, 300 * 24 * 60)
SMALL_PASTS = st.lists(
    st.builds(
        Login,
        subject_id=st.sampled_from(["ada", "ben", "cem"]),
        outcome=st.sampled_from([SUCCESS, SUCCESS, FAILURE]),
        occurred_at=(st.integers(0, 90) | st.integers(0, 300 * 24 * 60)).map(
            lambda past: MONDAY - timedelta(minutes=past)
        ),
        ip=st.sampled_from(["192.0.2.1", "192.0.2.2", "8.8.8.8", "81.2.69.142", None]),
        device_id=st.sampled_from(["pc", "phone", None]),
    ),
    min_size=2,
    max_size=10,
)


@st.composite
def loads(draw: st.DrawFn) -> list[Request]:
    """A small past in any order and cut, some of it sent again, older rows after newer ones were learnt."""
    logins = draw(SMALL_PASTS.flatmap(st.permutations))
    sent = [*logins, *draw(st.lists(st.sampled_from(logins), max_size=4))]
    cuts = sorted(draw(st.sets(st.integers(1, len(sent) - 1), max_size=3)))
    parts = [sent[start:end] for start, end in pairwise([0, *cuts, len(sent)])]
    return [Request(part, draw(st.integers(0, 4)), draw(st.booleans())) for part in parts]


def live_in_memory(lab: Installation, logins: Sequence[Login]) -> dict[bytes, str]:
    """The documents that a detector in memory makes of logins, each of them once, in the order of time."""
    traces = [lab.risk.logins._detector.trace(login) for login in logins]
    by_place = {PackedLogin.of(trace)[:2]: trace for trace in traces}
    memory = MemoryDocuments()
    for _, trace in sorted(by_place.items()):
        memory.save(evaluate_trace(trace, memory.documents).changed)
    return {digest_key(key): orjson.dumps(each.to_json()).decode() for key, each in memory.documents.items()}


@pytest.mark.more_in_soak
@settings(max_examples=examples(5, many=300), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(loads())
def test_documents_depend_on_no_order_cut_or_repetition_of_a_past(lab: Installation, requests: list[Request]) -> None:
    loading = add_tenant(lab, "Loads")
    for request in requests:
        send(lab, loading, request.logins)
        while request.slice_rows and learn(lab, loading, at_most=request.slice_rows, is_quiet=request.is_quiet):
            pass
    learn_all(lab, loading, at_most=3)

    logins = [login for request in requests for login in request.logins]
    assert read_documents(lab, loading) == live_in_memory(lab, logins)


def test_what_expired_in_a_life_is_expired_in_a_load(lab: Installation, clock: FixedClock) -> None:
    """Cleaning between the logins of a life changes no later score, and none between the slices of a load."""
    logins = make_past(2, 120, clock.now(), days=700)
    lived, loading = add_tenant(lab, "Lived"), add_tenant(lab, "Loads")
    for start in range(0, 120, 20):
        live_through(lab, clock, lived, logins[start : start + 20])
        prune_all(lab)
    before = len(read_documents(lab, lived))
    for part in cut(logins):
        send(lab, loading, part)
        while learn(lab, loading, is_quiet=False):
            prune_all(lab)

    now = clock.now()
    clock.advance(timedelta(minutes=10))
    assert score_next(lab, loading, logins[-40:], now) == score_next(lab, lived, logins[-40:], now)
    assert before < len(read_documents(lab, loading))


@pytest.mark.both_engines
def test_a_load_ends_a_day_after_its_last_login_and_changes_no_score(lab: Installation, clock: FixedClock) -> None:
    logins = make_past(3, 80, clock.now() - timedelta(days=300))
    older, newer = logins[:40], logins[40:]
    loading, other = add_tenant(lab, "Loads"), add_tenant(lab, "Other")
    for each in (loading, other):
        live_through(lab, clock, each, [replace(older[0], occurred_at=clock.now())])
        send(lab, each, newer)
        learn_all(lab, each)
        send(lab, each, older)
        learn_all(lab, each)
    before = read_documents(lab, loading)

    clock.advance(timedelta(days=1, minutes=1))
    send(lab, other, older[:1])  # keeps the other load open
    prune_all(lab)

    assert before == {**before, **read_documents(lab, loading)}
    assert count_rows(lab, kept, loading) == 0
    assert count_rows(lab, kept, other) == 80
    state = get_state(lab, loading.tenant_id)
    assert (state.loaded_at, state.base, state.is_ending) == (None, state.published, False)
    assert generations(lab, loading) == {state.published}
    now = clock.now()
    clock.advance(timedelta(minutes=10))
    assert score_next(lab, loading, older, now) == score_next(lab, other, older, now)


def count_rows(lab: Installation, table: object, caller: Caller) -> int:
    with lab.storage.read() as connection:
        query = select(func.count()).select_from(table).where(table.c.tenant_id == caller.tenant_id)  # type: ignore[arg-type,attr-defined]  # a table
        return connection.scalar(query) or 0


def generations(lab: Installation, caller: Caller) -> set[int]:
    with lab.storage.read() as connection:
        query = select(documents.c.generation).where(documents.c.tenant_id == caller.tenant_id).distinct()
        return set(connection.execute(query).scalars())


def fail(at: datetime, device: str = "stranger") -> Login:
    return Login("ada", FAILURE, at, "198.51.100.7", device, None, CHROME)


@pytest.mark.both_engines
def test_logins_during_a_load_climb_the_ladder_and_are_learnt_in_their_turn(
    lab: Installation, clock: FixedClock
) -> None:
    """The draft replaces the documents that have seen them, so it must learn them, too."""
    logins = make_past(4, 120, clock.now() - timedelta(days=200), days=150)
    lived, loading = add_tenant(lab, "Lived"), add_tenant(lab, "Loads")
    present = [fail(clock.now() + timedelta(minutes=number)) for number in range(1, 20)]

    send(lab, loading, logins[60:])
    learn(lab, loading, at_most=20, is_quiet=False)
    for number, login in enumerate(present):
        clock.advance(timedelta(minutes=1))
        score = lab.risk.logins.evaluate(login, caller=loading).score
        assert score >= (10 if number < 4 else 50 if number < 9 else 70)
        if number == 9:
            send(lab, loading, logins[:60])
        learn(lab, loading, at_most=20, is_quiet=number > 12)
    learn_all(lab, loading)

    with lab.storage.write() as tx:
        for login in logins:
            lab.risk.logins._assess(tx, lived.tenant_id, lab.risk.logins._detector.trace(login))
        for login in present:
            lab.risk.logins._assess(tx, lived.tenant_id, lab.risk.logins._detector.trace(login))
    assert read_documents(lab, loading) == read_documents(lab, lived)
    clock.advance(timedelta(minutes=1))
    assert lab.risk.logins.evaluate(fail(clock.now()), caller=loading).score >= 90


def test_a_confirmation_during_a_load_is_learnt_in_its_turn(lab: Installation, clock: FixedClock) -> None:
    logins = make_past(5, 100, clock.now() - timedelta(days=30), days=29)
    loading, lived = add_tenant(lab, "Loads"), add_tenant(lab, "Lived")
    send(lab, loading, logins[50:])
    learn(lab, loading, at_most=10)
    with lab.storage.write() as tx:
        lab.risk.logins.confirm_user(tx, loading.tenant_id, "user-1", clock.now())
    send(lab, loading, logins[:50])
    learn_all(lab, loading)

    with lab.storage.write() as tx:
        for login in logins:
            lab.risk.logins._assess(tx, lived.tenant_id, lab.risk.logins._detector.trace(login))
        lab.risk.logins.confirm_user(tx, lived.tenant_id, "user-1", clock.now())
    assert read_documents(lab, loading) == read_documents(lab, lived)


def test_an_older_login_waits_until_no_more_come_or_there_are_twice_as_many(
    lab: Installation, clock: FixedClock
) -> None:
    """Else each request of a shuffled past would cost as much as all before it."""
    logins = make_past(6, 200, clock.now() - timedelta(days=300))
    loading = add_tenant(lab, "Loads")
    send(lab, loading, logins[150:])
    while learn(lab, loading, is_quiet=False):
        pass

    send(lab, loading, logins[110:150])
    assert not learn(lab, loading, is_quiet=False)
    assert lab.risk.backfill.progress(caller=loading) == (90, 50)
    send(lab, loading, logins[:110])
    assert learn(lab, loading, is_quiet=False)

    learn_all(lab, loading)
    assert lab.risk.backfill.progress(caller=loading) == (200, 200)


def test_a_slice_ends_early_for_those_who_wait_and_the_next_one_continues(lab: Installation, clock: FixedClock) -> None:
    logins = make_past(9, 60, clock.now() - timedelta(days=300))
    loading = add_tenant(lab, "Loads")
    send(lab, loading, logins)

    with lab.storage.write() as tx:
        lab.risk.backfill.learn(tx, loading.tenant_id, at_most=60, is_quiet=True, must_end=lambda learnt: learnt >= 7)
    assert lab.risk.backfill.progress(caller=loading) == (60, 7)

    learn_all(lab, loading)
    assert read_documents(lab, loading) == live_in_memory(lab, logins)


def test_rows_name_no_user_and_no_address(lab: Installation, clock: FixedClock) -> None:
    loading = add_tenant(lab, "Loads")
    send(lab, loading, [Login("ada.lovelace", SUCCESS, clock.now(), "198.51.100.7", "adas-laptop", None, CHROME)])

    with lab.storage.read() as connection:
        rows = connection.execute(select(*kept.c).where(kept.c.tenant_id == loading.tenant_id)).all()
    text = repr([tuple(row) for row in rows])

    assert len(rows) == 1
    assert [word for word in ("lovelace", "198.51", "laptop", "Mozilla") if word in text] == []


@pytest.mark.own_world
def test_a_past_that_comes_while_the_last_one_is_deleted_is_asked_to_wait(lab: Installation, clock: FixedClock) -> None:
    logins = make_past(7, 60, clock.now() - timedelta(days=100), days=90)
    loading = add_tenant(lab, "Loads")
    send(lab, loading, logins)
    learn_all(lab, loading)
    clock.advance(timedelta(days=2))
    with lab.storage.write() as tx:
        lab.risk.logins.prune(tx, at_most=5)

    with pytest.raises(Unavailable, match="Retry in a minute"):
        send(lab, loading, logins[:1])

    prune_all(lab)
    send(lab, loading, logins[:1])
    learn_all(lab, loading)
    assert lab.risk.backfill.progress(caller=loading) == (1, 1)


def test_a_login_of_the_past_is_scored_by_what_is_known_and_makes_no_signal(
    lab: Installation, clock: FixedClock
) -> None:
    caller = add_tenant(lab, "Evaluates")
    begin = clock.now() - timedelta(days=4 * 365)

    scores = [
        lab.risk.logins.evaluate_past(fail(begin + timedelta(minutes=number)), caller=caller).score
        for number in range(20)
    ]
    learn_all(lab, caller)
    later = lab.risk.logins.evaluate_past(fail(begin + timedelta(minutes=21)), caller=caller)

    assert scores == [scores[0]] * 20
    assert (later.score >= 90, later.signal_id) == (True, None)
    assert count_rows(lab, signals, caller) == 0
    with pytest.raises(ValidationFailed, match="over five years ago"):
        lab.risk.logins.evaluate_past(fail(clock.now() - timedelta(days=1828)), caller=caller)


@pytest.mark.both_engines
def test_cleaning_follows_the_newest_login_of_the_tenant(lab: Installation, clock: FixedClock) -> None:
    """A tenant that was quiet for a year keeps what it knew until its next login."""
    lived = add_tenant(lab, "Lived")
    live_through(lab, clock, lived, make_past(8, 50, clock.now(), days=5))
    before = read_documents(lab, lived)

    clock.advance(timedelta(days=400))
    prune_all(lab)
    assert read_documents(lab, lived) == before

    live_through(lab, clock, lived, [fail(clock.now())])
    prune_all(lab)
    assert read_documents(lab, lived).keys().isdisjoint(before)
