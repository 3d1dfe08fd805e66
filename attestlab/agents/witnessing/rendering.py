"""Rendering of requests for votes, votes and consensus as wire models; this module makes no decisions."""

from __future__ import annotations

from attestlab.agents.witnessing.results import Consensus, CountedVote
from attestlab.agents.witnessing.shapes import ConsensusOut, VotedClaimIn, VoteOut, VoteRequestOut, VoteResultOut
from attestlab.agents.witnessing.tables import VoteRecord, VoteRequestRecord
from attestlab.core.row_rendering import RowRenderer

render_request = RowRenderer(
    VoteRequestOut,
    VoteRequestRecord,
    request_id="id",
    required_witnesses="required_votes",
    claim=lambda row: VotedClaimIn(subject=row.subject, claim_type=row.claim_type, claim_value=row.claim_value),
)
_render_vote = RowRenderer(VoteOut, VoteRecord, computed=["key_log_index"], vote_id="id", attested_at="created_at")
_render_result = RowRenderer(
    VoteResultOut,
    VoteRequestRecord,
    computed=["vote_id", "verdict", "attested_at"],
    request_id="id",
)
_render_consensus = RowRenderer(
    ConsensusOut, VoteRequestRecord, computed=["votes"], request_id="id", required_witnesses="required_votes"
)


def render_counted(counted: CountedVote) -> VoteResultOut:
    """Render a vote that counts, with the tally after it."""
    vote = counted.vote
    return _render_result(counted.request, vote_id=vote.id, verdict=vote.verdict, attested_at=vote.created_at)


def render_consensus(consensus: Consensus) -> ConsensusOut:
    """Render what the votes decided, with each vote."""
    return _render_consensus(
        consensus.request, votes=[_render_vote(each.row, key_log_index=each.key_log_index) for each in consensus.votes]
    )
