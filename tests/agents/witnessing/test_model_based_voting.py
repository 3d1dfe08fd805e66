"""Whatever agents do in whatever order: the service decides what a model of a few lines decides, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from attestlab.agents.delegation.shapes import DelegationIn
from attestlab.agents.shapes import AgentIn
from attestlab.agents.tables import AgentRecord
from attestlab.agents.witnessing.rules import VoteVerdict
from attestlab.agents.witnessing.shapes import VotedClaimIn, VoteIn, VoteRequestIn
from attestlab.core.clock import FixedClock
from attestlab.core.errors import AttestLabError, Conflict
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller, Plan
from support.outbox import read_events_of_type
from support.property_tests import examples

PICK = st.integers(0, 99)
CLAIM = VotedClaimIn(subject="invoice 7", claim_type="paid", claim_value="true")
TTL = timedelta(seconds=300)


@dataclass
class ModelRequest:
    """What the model knows of a request: who may not vote, who did, and when it ended."""

    originator: int
    required: int
    age: timedelta = timedelta(0)
    excluded: set[int] = field(default_factory=set)
    voted: dict[int, VoteVerdict] = field(default_factory=dict)
    status: str = "pending"

    def count(self, verdict: VoteVerdict) -> int:
        return sum(each is verdict for each in self.voted.values())

    def vote(self, agent: int, verdict: VoteVerdict) -> str | None:
        """Count a vote; returns the reason of a refusal."""
        if self.status != "pending":
            return self.status
        if agent in self.excluded:
            return "not_independent"
        if agent in self.voted:
            return "has_voted"
        self.voted[agent] = verdict
        for wanted, status in ((VoteVerdict.CONFIRM, "confirmed"), (VoteVerdict.DENY, "denied")):
            if self.count(wanted) >= self.required:
                self.status = status
        return None


class Votes(RuleBasedStateMachine):
    """Agents of a tenant, their requests and votes, beside the model of them."""

    lab: Installation
    clock: FixedClock

    def __init__(self) -> None:
        super().__init__()
        tenant = self.lab.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)
        self.caller: Caller = self.lab.orgs.service_caller(tenant.tenant_id)
        self.agents: list[AgentRecord] = []
        self.parents: dict[int, int] = {}
        self.requests: dict[UUID, ModelRequest] = {}
        for _ in range(3):
            self.add_agent()

    def add_agent(self) -> None:
        body = AgentIn(display_name="A", scopes=["docs:read"])
        self.agents.append(self.lab.agents.registry.register(body, caller=self.caller).row)

    def root(self, agent: int) -> int:
        while agent in self.parents:
            agent = self.parents[agent]
        return agent

    def tree(self, agent: int) -> set[int]:
        return {each for each in range(len(self.agents)) if self.root(each) == self.root(agent)}

    def pick_request(self, pick: int) -> UUID:
        return list(self.requests)[pick % len(self.requests)]

    def has_requests(self) -> bool:
        return bool(self.requests)

    @precondition(lambda self: len(self.agents) < 8)
    @rule()
    def registered(self) -> None:
        self.add_agent()

    @rule(parent=PICK, child=PICK)
    def delegated(self, parent: int, child: int) -> None:
        """A tree grows, and with it those who may not vote about pending requests."""
        above, below = parent % len(self.agents), child % len(self.agents)
        body = DelegationIn(child_agent_id=str(self.agents[below].id), scopes=["docs:read"])
        try:
            self.lab.agents.delegations.delegate(self.agents[above].id, body, caller=self.caller)
        except Conflict:
            return
        self.parents[below] = above
        for each in self.requests.values():
            each.excluded |= self.tree(each.originator)

    @rule(originator=PICK, required=st.integers(1, 2))
    def requested(self, originator: int, required: int) -> None:
        number = originator % len(self.agents)
        body = VoteRequestIn(
            originator_agent_id=str(self.agents[number].id), claim=CLAIM, required_witnesses=required, ttl_seconds=300
        )
        made = self.lab.agents.witnessing.request(body, caller=self.caller)
        self.requests[made.id] = ModelRequest(number, required, excluded=self.tree(number))

    @precondition(has_requests)
    @rule(request=PICK, agent=PICK, verdict=st.sampled_from(VoteVerdict))
    def voted(self, request: int, agent: int, verdict: VoteVerdict) -> None:
        request_id, number = self.pick_request(request), agent % len(self.agents)
        body = VoteIn(agent_id=str(self.agents[number].id), verdict=verdict)
        expected = self.requests[request_id].vote(number, verdict)
        reason = None
        try:
            self.lab.agents.witnessing.vote(request_id, body, caller=self.caller)
        except AttestLabError as error:
            reason = error.details.get("reason") or error.details["status"]
        assert reason == expected

    @rule(seconds=st.sampled_from([1, 299, 300]))
    def waited(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))
        for each in self.requests.values():
            each.age += timedelta(seconds=seconds)
            if each.status == "pending" and each.age >= TTL:
                each.status = "expired"

    @rule()
    def swept(self) -> None:
        with self.lab.storage.write() as tx:
            self.lab.agents.expire(tx, at_most=100)

    @invariant()
    def every_request_is_as_in_the_model(self) -> None:
        for request_id, model in self.requests.items():
            found = self.lab.agents.witnessing.consensus(request_id, caller=self.caller)
            tally = (found.request.confirm, found.request.deny, found.request.abstain)
            assert (found.request.status, *tally) == (model.status, *map(model.count, VoteVerdict))
            voters = {self.agents[number].id: verdict.value for number, verdict in model.voted.items()}
            assert {each.row.agent_id: each.row.verdict for each in found.votes} == voters

    def teardown(self) -> None:
        """After the last sweep each request that ended has one event, and fsck finds nothing."""
        self.swept()
        events = read_events_of_type(self.lab, "witness.decided")
        mine = sorted(
            (each["request_id"], each["status"]) for each in events if UUID(each["request_id"]) in self.requests
        )
        ended = ((str(key), each.status) for key, each in self.requests.items() if each.status != "pending")
        assert mine == sorted(ended)


@pytest.mark.more_in_soak
def test_requests_and_votes_follow_the_model(lab: Installation, clock: FixedClock) -> None:
    """Each run has another tenant of one installation."""
    machine = type("VotesOfOneLab", (Votes,), {"lab": lab, "clock": clock})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples(10, many=200), stateful_step_count=20, deadline=None)
    )
    assert list(fsck(lab)) == []
