"""What this browser remembers of its last look: it answers whether the log changed since, without a link."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from attestlab import Lab
from attestlab_dashboards.log.comparison import ComparisonResult as Result
from attestlab_dashboards.log.comparison import explain_comparison, load_change, remember_head
from attestlab_dashboards.log.events import recall_head
from attestlab_dashboards.log.heads import KeptHead, SeenHead
from attestlab_dashboards.log.page import PAGE
from attestlab_dashboards.log.panes.kpis import draw_age
from attestlab_dashboards.log.state import LogState
from support.log_inspector import mint

PANES = {pane.key: pane for pane in PAGE.panes}


def look(lab: Lab, memory: str = "") -> tuple[LogState, str]:
    """Visit the page with what the browser remembers; returns the state, and what it remembers afterwards."""
    state = recall_head(LogState(), memory)
    return state, remember_head(load_change(lab, state), state) or memory


def read(lab: Lab, key: str, state: LogState) -> str:
    pane = PANES[key]
    markup = str(pane.draw(pane.load(lab, state), state))
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup)).strip()


def test_the_answer_tells_what_was_added_since_the_last_look(own_lab: Lab) -> None:
    _, memory = look(own_lab)
    state, _ = look(own_lab, memory)
    assert "as when you last looked, just now, and nothing was changed" in read(own_lab, "answer", state)
    mint(own_lab, 3)
    answer = read(own_lab, "answer", state)
    assert answer.startswith("It grew by 3 entries since you last looked, just now and nothing older was changed")
    assert "+3 since you last looked, just now" in read(own_lab, "kpis", state)
    assert explain_comparison(load_change(own_lab, state), state).startswith("The head that this browser saw on")


def test_the_age_of_a_head_is_a_number_with_a_small_unit_or_two_words() -> None:
    now = datetime(2026, 11, 25, 12, tzinfo=UTC)

    assert draw_age(now - timedelta(minutes=5), now) == "5 <small>min ago</small>"
    assert draw_age(now, now) == "just now"


def test_the_first_look_is_compared_with_the_week_before(demo_lab: Lab) -> None:
    change = load_change(demo_lab, LogState())
    assert (change.is_kept, change.seen_at) == (False, None)
    assert explain_comparison(change, LogState()).startswith("This browser has seen no head before, so")


def test_the_memory_has_the_head_its_key_and_the_time(demo_lab: Lab) -> None:
    change = load_change(demo_lab, LogState())
    seen = SeenHead.parse(remember_head(change, LogState()))
    assert seen is not None
    assert seen.head == KeptHead(len(demo_lab.log), demo_lab.log.head().root_hash.removeprefix("sha256:"))
    assert demo_lab.log.vkey().vkey.split("+")[1] == seen.key_id
    assert timedelta() <= change.now - seen.at < timedelta(seconds=1)


@pytest.mark.parametrize(
    ("size", "outcome"),
    [(-2, Result.FORKED), (0, Result.FORKED), (1, Result.ROLLED_BACK)],
)
def test_evidence_of_another_log_is_not_forgotten(demo_lab: Lab, size: int, outcome: Result) -> None:
    own = SeenHead.parse(look(demo_lab)[1])
    assert own is not None
    wrong = str(own._replace(head=KeptHead(len(demo_lab.log) + size, "ab" * 32)))
    state, memory = look(demo_lab, wrong)
    assert load_change(demo_lab, state).outcome is outcome
    assert memory == wrong
    assert "Keep the head that you saw in this link Forget it in this browser" in read(demo_lab, "change", state)


def test_a_link_is_compared_first_and_leaves_the_memory_as_it_is(demo_lab: Lab) -> None:
    own = SeenHead.parse(look(demo_lab)[1])
    assert own is not None
    state = LogState(kept=own.head, seen=own._replace(head=KeptHead(1, "ab" * 32)))
    change = load_change(demo_lab, state)
    assert (change.outcome, change.seen_at) == (Result.SAME, None)
    assert remember_head(change, state) == ""
    assert remember_head(change, state.replace(seen=None)) != ""


def test_a_log_with_another_key_is_no_fork_and_is_named(demo_lab: Lab) -> None:
    own = SeenHead.parse(look(demo_lab)[1])
    assert own is not None
    state = LogState(seen=SeenHead(KeptHead(5, "ab" * 32), "00000000", own.at))
    change = load_change(demo_lab, state)
    assert not change.is_kept
    assert f"a log with another key (00000000, now {own.key_id})" in explain_comparison(change, state)
    assert remember_head(change, state) != ""


GOOD = f"7.{'ab' * 32}.01234567.1762000000"


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", GOOD[:-11], GOOD.upper(), GOOD + "0" * 12, GOOD + "\n", "07" + GOOD[1:], f"9{'9' * 18}{GOOD[1:]}"),
        *("<img src=x onerror=alert(1)>", "\u0667" + GOOD[1:], "{}", "null"),
    ],
)
def test_a_memory_that_is_no_head_is_none(text: str) -> None:
    assert recall_head(LogState(), GOOD).seen is not None
    assert recall_head(LogState(), text) == LogState()
    assert LogState.from_query({"seen": GOOD}) == (LogState(), ("seen",))
