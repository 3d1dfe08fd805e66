"""The board of a tenant and of the platform, behind the true application."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from governance_story import Board, board_of

from attestlab.lab import Lab
from attestlab.orgs.rules import Caller


@pytest.fixture
def board(lab: Lab, caller: Caller) -> Iterator[Board]:
    with board_of(lab, caller) as made:
        yield made
