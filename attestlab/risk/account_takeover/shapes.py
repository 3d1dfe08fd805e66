"""Wire models of logins (CONTRACT section 8)."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from attestlab.core.shapes import In, Moment, Out
from attestlab.risk.shapes import EntityId, FactorOut

Text = Annotated[str, Field(min_length=1, max_length=512)]


class LoginAttemptIn(In):
    """One attempt to log in; every value but the subject and the outcome may be missing.

    A placeholder, such as the device `unknown`, the address `0.0.0.0` or the country `ZZ`, counts as missing.
    """

    subject_id: EntityId
    outcome: Literal["success", "failure"]
    ip: Annotated[str, Field(max_length=45)] | None = None
    device_id: EntityId | None = None
    country: Annotated[str, Field(max_length=16)] | None = None
    user_agent: Text | None = None
    occurred_at: Moment | None = None
    backfill: bool = False


class BackfillProgressOut(Out):
    """How many logins of the past were accepted, each once, and how many of them are learnt."""

    accepted: int
    learnt: int


class LoginOut(Out):
    """The score of a login with its level, and the signal that it became from a score of 60 on."""

    score: float
    level: Literal["normal", "elevated", "high", "critical"]
    factors: list[FactorOut]
    signal_id: UUID | None
