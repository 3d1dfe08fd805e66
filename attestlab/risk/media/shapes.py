"""Wire models of the media scan (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.shapes import EntityId, FactorOut


class ScanIn(In):
    """Media to scan, indicators of the caller's own detectors, or both; `subject_ref` is the id of a document."""

    subject_ref: EntityId
    content_b64url: str | None = None
    content_type: Annotated[str, Field(max_length=100)] | None = None
    indicators: dict[str, float | bool] | None = None
    claimed_at: Moment | None = None


class ScanOut(Out):
    """The score of the marks that the media carries, and the signal that it became from a score of 60 on.

    It is heuristic: `details.heuristic` says what the score means, and `details.not_examined` what was left out.
    """

    score: float
    verdict: Literal["clean", "suspect", "likely"]
    factors: list[FactorOut]
    signal_id: UUID | None
    details: dict[str, object]
