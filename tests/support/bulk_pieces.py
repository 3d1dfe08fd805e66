"""The pieces of bulk work that a server runs, so that a test can count them, or say how long each may take."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from attestlab.core.limits.background_turns import BackgroundTurns


def count_pieces(monkeypatch: pytest.MonkeyPatch, *, time_s: float | None = None) -> list[float]:
    """Return a list that grows with each piece by the time that it may take, which is `time_s` if that is given."""
    run_piece, pieces = BackgroundTurns.piece, list[float]()

    @asynccontextmanager
    async def note_piece(turns: BackgroundTurns) -> AsyncIterator[float]:
        async with run_piece(turns) as allowed_s:
            pieces.append(allowed_s if time_s is None else time_s)
            yield pieces[-1]

    monkeypatch.setattr(BackgroundTurns, "piece", note_piece)
    return pieces
