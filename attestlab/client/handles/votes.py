"""Requests for votes: the claim of an agent, the votes of others about it, and what they decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypedDict, Unpack
from uuid import UUID

from attestlab.agents.witnessing.rules import compute_claim_digest
from attestlab.agents.witnessing.shapes import ConsensusOut, VoteOut, VoteRequestOut, VoteResultOut
from attestlab.client import agent_cards, arguments
from attestlab.client.analysis.records import Records
from attestlab.client.handles.agent_arguments import read_agent_id
from attestlab.client.handles.agents import AgentLike
from attestlab.client.handles.base import Handle
from attestlab.client.handles.delegations import AskedSignature, read_signing_input
from attestlab.client.own_keys import OwnKey, require_key
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import ValidationFailed

REQUESTS = "/v1/witness/requests"


class VoteRequestOptions(TypedDict, total=False):
    """The optional parts of a request for votes (docs/witnessing.md)."""

    required_witnesses: int
    min_trust_score: float
    ttl_seconds: int


class VoteOptions(TypedDict, total=False):
    """The optional parts of a vote: why, and how sure the agent is (0-1)."""

    evidence: str | None
    confidence: float | None


class VoteHandle(VoteResultOut, Handle):
    """A vote that counts, and the tally after it."""

    shown_fields: ClassVar = ("vote_id", "verdict", "status", "confirm", "deny", "abstain")

    def _repr_html_(self) -> str:
        return agent_cards.draw_vote(self)


class ConsensusHandle(ConsensusOut, Handle):
    """What the votes about a claim decided, with every vote as its agent signed it."""

    shown_fields: ClassVar = ("request_id", "status", "confirm", "deny", "abstain", "required_witnesses")

    votes: Records[VoteOut]

    def _repr_html_(self) -> str:
        return agent_cards.draw_consensus(self)


class VoteRequestHandle(VoteRequestOut, Handle):
    """A request for votes about a claim that an agent makes."""

    shown_fields: ClassVar = ("request_id", "status", "confirm", "deny", "abstain", "required_witnesses")

    @property
    def id(self) -> UUID:
        """The id of the request."""
        return self.request_id

    def _repr_html_(self) -> str:
        return agent_cards.draw_vote_request(self)

    def reload(self) -> VoteRequestHandle:
        """Read the request as it is now.

        Returns:
            The request with its present counts and status.

        >>> asked = lab.witness.ask(("door", "locked", "yes"), of=lab.agents.register("Guard"))
        >>> asked.reload().status
        'pending'
        """
        return find_request(self._client, self.id)

    def vote(
        self, agent: AgentLike, verdict: str, *, key: OwnKey | None = None, **options: Unpack[VoteOptions]
    ) -> VoteHandle:
        """Vote as an agent about the claim; `lab.witness.vote` explains the arguments and errors.

        >>> asked = lab.witness.ask(("lamp", "on", "yes"), of=lab.agents.register("Keeper"), required_witnesses=1)
        >>> asked.vote(lab.agents.register("Passer-by"), "confirm").status
        'confirmed'
        """
        return cast_vote(self._client, self, agent, verdict, options, key)

    def consensus(self) -> ConsensusHandle:
        """Read what the votes decided, and each vote as its agent signed it.

        Returns:
            The consensus with the votes in the order in which they counted.

        >>> asked = lab.witness.ask(("gate", "open", "yes"), of=lab.agents.register("Porter"))
        >>> voted = asked.vote(lab.agents.register("Visitor"), "deny", evidence="it is closed")
        >>> [(each.verdict, each.evidence) for each in asked.consensus().votes]
        [('deny', 'it is closed')]
        """
        return fetch_consensus(self._client, self.id)


VoteRequestLike = UUID | str | VoteRequestHandle
Claim = Mapping[str, str] | tuple[str, str, str]


def ask_votes(
    client: ServiceClient, claim: Claim, originator: AgentLike, options: Mapping[str, object]
) -> VoteRequestHandle:
    """Request votes about a claim that an agent makes."""
    named = {name: value for name, value in options.items() if value is not None}
    body = {**named, "claim": _read_claim(claim), "originator_agent_id": str(read_agent_id(originator))}
    return VoteRequestHandle.parse(client, client.post(REQUESTS, body))


def find_request(client: ServiceClient, request_id: UUID) -> VoteRequestHandle:
    """Find a request for votes."""
    return VoteRequestHandle.parse(client, client.get(f"{REQUESTS}{path_of(request_id)}"))


def fetch_consensus(client: ServiceClient, request_id: UUID) -> ConsensusHandle:
    """Fetch what the votes about a claim decided."""
    return ConsensusHandle.parse(client, client.get(f"{REQUESTS}{path_of(request_id, 'consensus')}"))


def cast_vote(
    client: ServiceClient,
    request: VoteRequestLike,
    agent: AgentLike,
    verdict: str,
    options: Mapping[str, object],
    key: OwnKey | None,
) -> VoteHandle:
    """Vote as an agent; with its own key in two requests, and one more to read the claim of an id."""
    said = arguments.read_text(verdict, name="verdict")
    named = {name: value for name, value in options.items() if value is not None}
    body: dict[str, object] = {**named, "agent_id": str(read_agent_id(agent)), "verdict": said}
    holder = None if key is None else require_key(key)
    path = f"{REQUESTS}{path_of(arguments.read_id(request, 'a request for votes'), 'attest')}"
    try:
        return VoteHandle.parse(client, client.post(path, body))
    except ValidationFailed as error:
        asks = read_signing_input(error, holder)
    body["signature"] = _sign(client, request, body, asks)
    return VoteHandle.parse(client, client.post(path, body))


def _sign(client: ServiceClient, request: VoteRequestLike, body: Mapping[str, object], asks: AskedSignature) -> str:
    """Sign a vote about the claim that the holder knows: that of the handle, or of the request as it is read now."""
    known = request if isinstance(request, VoteRequestHandle) else find_request(client, arguments.read_id(request, ""))
    claim = known.claim
    return asks.key.sign_vote(
        asks.signing_input,
        agent_id=str(body["agent_id"]),
        request_id=known.id,
        claim_sha256=compute_claim_digest(claim.subject, claim.claim_type, claim.claim_value),
        verdict=str(body["verdict"]),
        evidence=body.get("evidence"),  # type: ignore[arg-type]  # the service has accepted it
        confidence=body.get("confidence"),  # type: ignore[arg-type]
    )


def _read_claim(claim: object) -> dict[str, object]:
    """Read a claim: its members by name, or subject, type and value in this order.

    Raises:
        ValidationFailed: it is neither.
    """
    if isinstance(claim, tuple):
        if len(claim) != len(_MEMBERS):
            message = f"The claim has {len(claim)} parts. Pass ({', '.join(_MEMBERS)}), or a mapping with these names."
            raise ValidationFailed(message)
        return dict(zip(_MEMBERS, claim, strict=True))
    return arguments.read_mapping(claim, name="claim")


_MEMBERS = ("subject", "claim_type", "claim_value")
