"""Results of the service for votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from attestlab.agents.witnessing.tables import VoteRecord, VoteRequestRecord


@dataclass(frozen=True)
class CountedVote:
    """A vote that counts, and the request after it."""

    vote: VoteRecord
    request: VoteRequestRecord


@dataclass(frozen=True)
class LoggedVote:
    """A vote, and the log entry with which its agent got the key that signed it."""

    row: VoteRecord
    key_log_index: int


@dataclass(frozen=True)
class Consensus:
    """A request as it is now, with every vote about it, the earliest first."""

    request: VoteRequestRecord
    votes: Sequence[LoggedVote] = field(repr=False)
