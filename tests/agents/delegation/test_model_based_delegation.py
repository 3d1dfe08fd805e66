"""Whatever happens in whatever order: an agent may do what the reference model says, and never more.

What the service computes for a session, what a verification answers and what the Biscuit allows are compared.
"""

from __future__ import annotations

from datetime import timedelta
from importlib.util import find_spec
from itertools import product

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from attestlab.agents.delegation.rules import ChainVerdict
from attestlab.agents.delegation.verification import judge_chain
from attestlab.agents.scopes import parse_scopes
from attestlab.core.errors import AttestLabError
from support.delegation_biscuits import allows_by_biscuit
from support.delegation_model import DelegationModel, ModelGrant, allows
from support.delegation_world import DelegationWorld, Grant, WorldAgent
from support.property_tests import examples

STEPS = 30
MAX_AGENTS = 7
RESOURCES, ACTIONS = ("docs", "mail"), ("read", "send", "*")
PATTERNS = [f"{resource}:{action}" for resource, action in product(RESOURCES, ACTIONS)]
REQUESTS = [f"{resource}:{action}" for resource, action in product(RESOURCES, ("read", "send", "other"))]
PICK = st.integers(0, 99)
SCOPES = st.lists(st.sampled_from([*PATTERNS, *(f"!{each}" for each in PATTERNS)]), unique=True, max_size=5)
WIDE = st.lists(st.sampled_from([*PATTERNS, "docs:*", "mail:*", "!docs:send"]), unique=True, min_size=1, max_size=5)
HOURS = st.sampled_from([None, 1, 5, 50])
HAS_BISCUIT = find_spec("biscuit_auth") is not None


class Trees(RuleBasedStateMachine):
    """Trees of agents, beside the model of them."""

    def __init__(self) -> None:
        super().__init__()
        self.world, self.model = DelegationWorld(), DelegationModel()
        self.add(["docs:*", "mail:*", "!docs:send"])

    def add(self, scopes: list[str]) -> WorldAgent:
        agent = self.world.add_agent(*scopes)
        self.model.own[agent.id] = scopes
        return agent

    def agent(self, pick: int) -> WorldAgent:
        return list(self.world.agents.values())[pick % len(self.world.agents)]

    def grant(self, pick: int) -> Grant:
        return list(self.world.grants.values())[pick % len(self.world.grants)]

    def has_room(self) -> bool:
        return len(self.world.agents) < MAX_AGENTS

    def has_grants(self) -> bool:
        return bool(self.world.grants)

    @precondition(has_room)
    @rule(scopes=WIDE)
    def registered(self, scopes: list[str]) -> None:
        self.add(scopes)

    @precondition(has_room)
    @rule(pick=PICK, own=WIDE, scopes=WIDE, hours=HOURS)
    def delegated_to_a_new_child(self, pick: int, own: list[str], scopes: list[str], hours: int | None) -> None:
        self.delegate(self.agent(pick), self.add(own), scopes, hours)

    @rule(parent=PICK, child=PICK, scopes=WIDE, hours=HOURS)
    def delegated(self, parent: int, child: int, scopes: list[str], hours: int | None) -> None:
        self.delegate(self.agent(parent), self.agent(child), scopes, hours)

    def delegate(self, parent: WorldAgent, child: WorldAgent, scopes: list[str], hours: int | None) -> None:
        if {parent.id, child.id} & self.model.stopped:
            return
        before = len(self.world.grants)
        try:
            grant = self.world.delegate(parent, child, *scopes, hours=hours)
        except AttestLabError:
            assert len(self.world.grants) == before
            assert not self.must_succeed(parent, child, scopes, hours)
            return
        assert self.may_succeed(parent, child, scopes)
        self.model.grants[grant.hop.id] = ModelGrant(
            parent.id, child.id, [*scopes, *(f"!{each}" for each in grant.hop.scopes.denies)], grant.hop.expires_at
        )
        self.model.parents[child.id] = grant.hop.id

    def may_succeed(self, parent: WorldAgent, child: WorldAgent, scopes: list[str]) -> bool:
        """Whether the model lets the parent grant these scopes."""
        granted = [scope for scope in scopes if not scope.startswith("!")]
        return (
            self.model.holds(parent.id, self.world.now)
            and all(self.model.may(parent.id, scope) for scope in granted)
            and parent is not child
            and child.id not in {grant.parent for grant in self.model.list_path(parent.id)}
        )

    def must_succeed(self, parent: WorldAgent, child: WorldAgent, scopes: list[str], hours: int | None) -> bool:
        """Whether no rule refuses, as far as the model knows: of expiry it says nothing."""
        useful = any(allows(scopes, scope) for scope in scopes if not scope.startswith("!"))
        is_free = not self.model.is_bound(child.id, self.world.now)
        return self.may_succeed(parent, child, scopes) and useful and is_free and hours is None

    @rule(pick=PICK, scopes=SCOPES)
    def changed_an_agents_scopes(self, pick: int, scopes: list[str]) -> None:
        agent = self.agent(pick)
        agent.scopes = parse_scopes(scopes)
        self.model.own[agent.id] = scopes

    @rule(pick=PICK)
    def rotated_a_key(self, pick: int) -> None:
        self.world.end_key(self.agent(pick))

    @rule(pick=PICK)
    def compromised_a_key(self, pick: int) -> None:
        self.world.end_key(self.agent(pick))
        self.stop(self.agent(pick))

    @rule(pick=PICK)
    def suspended(self, pick: int) -> None:
        self.stop(self.agent(pick))

    def stop(self, agent: WorldAgent) -> None:
        agent.ended = "suspended"
        self.model.stopped.add(agent.id)

    @rule(pick=PICK)
    def resumed(self, pick: int) -> None:
        agent = self.agent(pick)
        agent.ended = None
        self.model.stopped.discard(agent.id)

    @precondition(has_grants)
    @rule(pick=PICK)
    def revoked(self, pick: int) -> None:
        grant = self.grant(pick)
        self.world.revoke(grant)
        self.model.revoke(grant.hop.id)

    @rule(hours=st.sampled_from([0.5, 2, 20]))
    def time_passed(self, hours: float) -> None:
        self.world.now += timedelta(hours=hours)

    @precondition(has_grants)
    @rule(pick=PICK, scopes=WIDE, older=st.booleans())
    def forged(self, pick: int, scopes: list[str], older: bool) -> None:
        """A leaf signs what it likes for another agent, with its newest or its first key, without the service."""
        grant = self.grant(pick)
        leaf, child = self.world.agents[grant.hop.child], WorldAgent(self.world.new_id(), parse_scopes(["docs:*"]), [])
        if self.world.received[leaf.id] is not grant:
            return
        self.world.add_key(child)
        key = leaf.keys[0 if older else -1]
        hop = self.world.build_hop(leaf, child, parse_scopes(scopes), grant.hop.expires_at)
        chain = [*grant.chain, hop.sign(key.kid, key.private)]

        assert self.world.judge(chain).verdict is ChainVerdict.CHAIN_BROKEN
        report = judge_chain(chain, lambda _: self.world.stranger_knowledge(), now=self.world.now)
        for request in REQUESTS:
            assert not report.scopes.permits(request) or grant.hop.scopes.permits(request)

    @invariant()
    def what_each_agent_may_do_is_what_the_model_says(self) -> None:
        for agent, grant in ((self.world.agents[each], grant) for each, grant in self.world.received.items()):
            holds = self.model.holds(agent.id, self.world.now)
            report = self.world.judge(grant.chain)
            assert (report.verdict is ChainVerdict.VALID) == holds, report
            expected = {request for request in REQUESTS if holds and self.model.may(agent.id, request)}
            assert {request for request in REQUESTS if report.scopes.permits(request)} == expected
            if holds:
                session = self.world.effective_scopes(agent)
                assert {request for request in REQUESTS if session.permits(request)} == expected
                for request in REQUESTS[:: len(REQUESTS) - 1]:
                    verdict = self.world.judge(grant.chain, request).verdict
                    assert (verdict is ChainVerdict.VALID) == (request in expected)

    def teardown(self) -> None:
        """Compare the Biscuits once, because an authorizer takes longer than all else."""
        for agent_id, grant in self.world.received.items() if HAS_BISCUIT else ():
            if self.model.holds(agent_id, self.world.now):
                hops = [self.world.grants[each].hop for each in grant.ids]
                expected = {request for request in REQUESTS if self.model.may(agent_id, request)}
                report = self.world.judge(grant.chain)
                assert allows_by_biscuit(hops, report, REQUESTS, at=self.world.now) == expected


@pytest.mark.more_in_soak
def test_nothing_widens():
    bound = settings(max_examples=examples(12, many=500), stateful_step_count=STEPS)
    run_state_machine_as_test(Trees, settings=bound)
