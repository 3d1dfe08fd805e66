"""Contexts that a text and the active version decide: as a replay decides them, and each once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from attestlab.client.collections.policies import PolicyCollection
from attestlab_dashboards.policy import decided_contexts
from attestlab_dashboards.policy.decided_contexts import Decided, DecidedContexts, find_decided
from attestlab_dashboards.policy.queries import load_text
from attestlab_dashboards.policy.shared_loads import forget
from attestlab_dashboards.policy.state import PolicyState
from support.policy_story import DRAFT, PolicyStory

TIERS = ("SELF_SIGNED", "BASIC", "VERIFIED", None, "BASIC")
PATHS = ("trust_tier",)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of contexts of each replay."""
    real, sizes = PolicyCollection.replay, list[int]()

    def replay(self: PolicyCollection, policy: Any, contexts: Any) -> Any:
        sizes.append(len(contexts))
        return real(self, policy, contexts)

    monkeypatch.setattr(PolicyCollection, "replay", replay)
    return sizes


def tabulate(*tiers: str | None) -> pa.Table:
    return pa.table({"trust_tier": pa.array(tiers, pa.string())})


def find(story: PolicyStory, run: int = 0) -> DecidedContexts:
    return find_decided(story.ann, load_text(story.ann, PolicyState(draft=DRAFT)), PATHS, run)


def test_contexts_are_decided_as_a_replay_decides_them(story: PolicyStory) -> None:
    about = load_text(story.ann, PolicyState(draft=DRAFT))
    assert about.active is not None

    found = find(story).decide(tabulate(*TIERS))

    by_active, by_text = (
        story.ann.policies.replay(each, tabulate(*TIERS)).df()["allowed"].to_list()
        for each in (about.active, about.source)
    )
    assert found == [Decided(*each) for each in zip(by_active, by_text, strict=True)]
    assert len(set(found)) > 1


def test_a_context_is_decided_once_until_the_replay_is_started_again(story: PolicyStory, replayed: list[int]) -> None:
    forget(story.ann)
    find(story).decide(tabulate(*TIERS))
    find(story).decide(tabulate("BASIC", None))
    find(story).decide(tabulate("BASIC", "ENTERPRISE"))
    find(story, run=1).decide(tabulate("BASIC"))

    assert replayed == [4, 4, 1, 1, 1, 1]


def test_contexts_beyond_the_limit_are_decided_again(
    story: PolicyStory, replayed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decided_contexts, "MAX_CONTEXTS", 2)
    forget(story.ann)
    decided = find(story)
    first = decided.decide(tabulate("BASIC", "VERIFIED"))
    decided.decide(tabulate("SELF_SIGNED"))

    assert decided.decide(tabulate("BASIC", "VERIFIED")) == first
    assert replayed == [2, 2, 1, 1, 2, 2]
