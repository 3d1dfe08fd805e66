"""A real lab in this process for the policy simulator: an active policy and the decisions that it made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from support import policy_story
from support.policy_story import PolicyStory


@pytest.fixture(scope="package")
def story(caches: None) -> Iterator[PolicyStory]:
    """A lab that tests only read; replays store reports."""
    with attestlab.demo(history=False) as lab:
        yield policy_story.tell(lab)


@pytest.fixture
def own_story(caches: None) -> Iterator[PolicyStory]:
    """A lab that a test may change."""
    with attestlab.demo(history=False) as lab:
        yield policy_story.tell(lab)
