"""A replay that a colleague with equal rights has just seen is not run again, unless one asks for it."""

from __future__ import annotations

from attestlab_dashboards.common_loads import CommonLoads, SharingWindow
from attestlab_dashboards.policy.panes.activation import load_readiness
from attestlab_dashboards.policy.panes.changes import load_changes
from attestlab_dashboards.policy.queries import load_replay
from attestlab_dashboards.policy.shared_loads import forget
from attestlab_dashboards.policy.state import PolicyState
from support.policy_story import DRAFT, PolicyStory

STATE = PolicyState(draft=DRAFT, window="90d")


def open_window(story: PolicyStory, loads: CommonLoads) -> SharingWindow:
    forget(story.ann)
    return SharingWindow(story.ann, loads)


def test_two_windows_show_one_report(story: PolicyStory) -> None:
    loads, found = CommonLoads(), []
    first = open_window(story, loads)
    second = SharingWindow(story.ann, loads)
    for window in (first, second):
        forget(story.ann)
        with window.use():
            found.append((load_replay(story.ann, STATE), load_changes(story.ann, STATE)))
    reports, changes = zip(*found, strict=True)

    assert reports[0].report is reports[1].report
    assert changes[0].rows == changes[1].rows != ()


def test_a_replay_that_is_started_again_runs_again(story: PolicyStory) -> None:
    window = open_window(story, CommonLoads())
    with window.use():
        shown = load_replay(story.ann, STATE).report
        again = load_replay(story.ann, STATE.replace(run=1)).report

    assert shown is not None
    assert again is not shown


def test_a_shared_report_may_be_named_by_an_activation(story: PolicyStory) -> None:
    loads = CommonLoads()
    first = open_window(story, loads)
    second = SharingWindow(story.ann, loads)
    with first.use():
        seen = load_replay(story.ann, PolicyState()).report
    forget(story.ann)
    with second.use():
        readiness = load_readiness(story.ann, PolicyState())

    assert seen is not None
    assert readiness.proof.replay.report is seen
