"""`lab.witness`: claims of agents, and the votes of other agents that confirm or deny them."""

from __future__ import annotations

from typing import Unpack

from attestlab.agents.witnessing.shapes import VoteRequestsQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.rows import Rows
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import VoteRequestFilterArgs
from attestlab.client.handles.agents import AgentLike
from attestlab.client.handles.votes import (
    REQUESTS,
    Claim,
    ConsensusHandle,
    VoteHandle,
    VoteOptions,
    VoteRequestHandle,
    VoteRequestLike,
    VoteRequestOptions,
    ask_votes,
    cast_vote,
    fetch_consensus,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.own_keys import OwnKey
from attestlab.client.service_client import ServiceClient


@name_in_examples("witness")
class VoteRequestCollection(Collection[VoteRequestHandle]):
    """The tenant's requests for votes, newest first; the votes themselves are rows: `lab.witness.votes.df()`."""

    noun = "a request for votes"
    path = REQUESTS
    query = VoteRequestsQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, VoteRequestHandle)

    @property
    def votes(self) -> Rows:
        """The data set `witness_votes`: each vote with its claim and what became of it.

        >>> asked = lab.witness.ask(("tap", "closed", "yes"), of=lab.agents.register("Plumber"))
        >>> voted = asked.vote(lab.agents.register("Tenant"), "abstain")
        >>> str(voted.vote_id) in set(lab.witness.votes.df()["id"])
        True
        """
        return Rows.of_dataset(self._client, "witness_votes")

    def list(self, *, limit: int | None = None, **filters: Unpack[VoteRequestFilterArgs]) -> Listing[VoteRequestHandle]:
        """List the requests that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `status` is `pending`, `confirmed`, `denied` or `expired`; `originator_agent_id` is the UUID of the
                agent that makes the claim.

        Returns:
            The requests, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.

        >>> scout = lab.agents.register("Scout")
        >>> asked = lab.witness.ask(("bridge", "passable", "yes"), of=scout)
        >>> [each.claim.subject for each in lab.witness.list(originator_agent_id=scout.id, status="pending")]
        ['bridge']
        """
        return self._list(limit, filters)

    def ask(self, claim: Claim, *, of: AgentLike, **options: Unpack[VoteRequestOptions]) -> VoteRequestHandle:
        """Ask other agents to vote about a claim that an agent makes.

        Args:
            claim: `{"subject", "claim_type", "claim_value"}`, or these three texts as a tuple; each has at most 1,000
                characters.
            of: the agent that makes the claim: the agent, its UUID or its maip id.
            options: `required_witnesses`, how many must confirm or deny (1-10, by default 3); `min_trust_score` of who
                votes (0-1, by default 0.5); `ttl_seconds` (300-604,800, by default a day).

        Returns:
            The request, which is pending.

        Raises:
            NotFound: the tenant has no such agent.
            PermissionDenied: the caller is another agent.
            Conflict: the agent is not active.
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> reader = lab.agents.register("Reader of invoices")
        >>> asked = lab.witness.ask(("invoice 7", "total", "1240.00 EUR"), of=reader, required_witnesses=1)
        >>> asked.vote(lab.agents.register("Auditor of invoices"), "confirm").status
        'confirmed'
        """
        return ask_votes(self._client, claim, of, options)

    def vote(
        self,
        request: VoteRequestLike,
        agent: AgentLike,
        verdict: str,
        *,
        key: OwnKey | None = None,
        **options: Unpack[VoteOptions],
    ) -> VoteHandle:
        """Vote about a claim, once, as an agent that is independent of the one that makes it.

        Args:
            request: the request or its id.
            agent: the agent that votes: the agent, its UUID or its maip id.
            verdict: `confirm`, `deny` or `abstain`.
            key: the agent's own key, if its holder keeps it. It signs in this process, after a look at the claim; an
                agent whose session may not read requests passes the request, not its id.
            options: `evidence`, why, at most 4,000 characters; `confidence`, how sure the agent is, 0 to 1.

        Returns:
            The vote, and the tally after it.

        Raises:
            NotFound: the tenant has no such request or agent.
            PermissionDenied: the agent is not independent of the other one, or has too little trust.
            Conflict: the agent has voted or is not active, or the request is decided or expired.
            ValidationFailed: an argument is not acceptable, or `key` is missing.
            ServiceFailed: the service wants another vote signed than this one.

        >>> asked = lab.witness.ask(("stock of pears", "count", "12"), of=lab.agents.register("Counter"))
        >>> lab.witness.vote(asked, lab.agents.register("Checker"), "deny", evidence="there are 11").deny
        1
        """
        return cast_vote(self._client, request, agent, verdict, options, key)

    def consensus(self, request: VoteRequestLike) -> ConsensusHandle:
        """Read what the votes about a claim decided, and each vote as its agent signed it.

        Args:
            request: the request or its id.

        Returns:
            The status, the tally, and `votes`; `votes.df()` has a row for each.

        Raises:
            NotFound: the tenant has no such request.

        >>> asked = lab.witness.ask(("stock of plums", "count", "30"), of=lab.agents.register("Picker"))
        >>> lab.witness.consensus(asked).status
        'pending'
        """
        return fetch_consensus(self._client, arguments.read_id(request, self.noun))
