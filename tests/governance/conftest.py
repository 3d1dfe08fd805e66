"""The board of a tenant and of the platform, behind the true application."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from governance_story import Board, board_of

from attestlab.installation import Installation


@pytest.fixture
def board(lab: Installation) -> Iterator[Board]:
    with board_of(lab) as made:
        yield made
