"""Rendering of requests for votes, votes and consensus as wire models; this module makes no decisions."""

from __future__ import annotations

from attestlab.agents.witnessing.results import Consensus, CountedVote, LoggedVote
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
_render_vote = RowRenderer(VoteOut, LoggedVote, parts={"row": VoteRecord}, vote_id="id", attested_at="created_at")
render_counted = RowRenderer(
    VoteResultOut,
    CountedVote,
    parts={"request": VoteRequestRecord, "vote": VoteRecord},
    request_id="request.id",
    vote_id="vote.id",
    attested_at="vote.created_at",
)
render_consensus = RowRenderer(
    ConsensusOut,
    Consensus,
    parts={"request": VoteRequestRecord},
    request_id="id",
    required_witnesses="required_votes",
    votes=lambda consensus: list(map(_render_vote, consensus.votes)),
)
