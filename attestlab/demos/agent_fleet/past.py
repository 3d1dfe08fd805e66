"""The past of the demo's agents: who registered them, what they were delegated, when they worked, and what ended.

One of them probes for scopes shortly before the end of the year. Its requests are refused by the service's own rules,
and no request is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.agents.delegation.shapes import DelegationIn
from attestlab.agents.keys import prepare_key
from attestlab.agents.observability.anomalies import watch_denied
from attestlab.agents.observability.rules import PROBE_REFUSALS, AgentEventStatus
from attestlab.agents.observability.shapes import AgentEventIn
from attestlab.agents.rules import PROOF_PREFIX
from attestlab.agents.runs.rules import RunEnd, StepStatus
from attestlab.agents.runs.shapes import RunCompleteIn, RunIn, RunStepIn
from attestlab.agents.sessions.shapes import AgentSessionIn
from attestlab.agents.shapes import AgentIn
from attestlab.attestations.routes import routes as attestation_routes
from attestlab.audit import trail
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import PermissionDenied
from attestlab.core.ids import new_id
from attestlab.demos.agent_fleet.members import OWN_KEY, PROBING, TREES, FleetAgent, FleetTree
from attestlab.demos.people import add_person
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.demos.registry_year.team import Team
from attestlab.installation import Installation
from attestlab.issuers.routes import routes as issuer_routes
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import Caller, Role
from attestlab.orgs.tables import UserRecord
from attestlab.policy.routes import routes as policy_routes
from attestlab.risk.signals.routes import routes as signal_routes
from attestlab.web.application import generate_request_id
from attestlab.web.request import Request
from attestlab.web.routing.routes import Route
from attestlab.webhooks.routes import routes as webhook_routes

WANTED: Final = ("/v1/attestations", "/v1/issuers", "/v1/policies", "/v1/risk/signals", "/v1/webhooks/endpoints")
"""What an agent that probes asks for, by turns; each needs another scope."""
_LISTS: Final[dict[str, Route]] = {
    route.path: route
    for routes in (attestation_routes, issuer_routes, policy_routes, signal_routes, webhook_routes)
    for route in routes
    if route.method == "GET" and route.path in WANTED
}
_ADDRESS: Final = "192.0.2.44"  # RFC 5737: of documentation


def ask_in_vain(tx: Transaction, path: str, caller: Caller, *, at: datetime) -> None:
    """Let a list's route refuse an agent that lacks its scope, and record that as a server does."""
    route = _LISTS[path]
    assert route.needs is not None, "a public route refuses no one"
    request = Request.without_connection(route, peer=_ADDRESS, request_id=generate_request_id(), now=at)
    request.caller = caller
    try:
        route.needs.require(caller)
    except PermissionDenied as error:
        trail.record_denied(tx, request, error)
        watch_denied(tx, caller, error, at=at)
    else:
        raise AssertionError(f"the agent may read {path}")


LEAVER: Final = ("tom@demo.example", "Tom Vale")
_JOINED_DAYS_AGO, _LEFT_DAYS_AGO = 170.2, 2.4
_DELEGATED_FOR: Final = timedelta(days=300)  # from the end of the year
_WORKING_DAYS: Final = 14.0  # before an agent's last day: of these its sessions are known
_UNTIL_WORK: Final = 0.006  # days after a session is opened
_CALLS: Final = ("tool.call", "tool.call", "llm.call", "document.read")
_TTL_MINUTES: Final = (30, 60, 120, 240)
_SUSPENDED: Final = (
    ("Transcript reader", 62.3, "The transcripts of 2025 are done."),
    ("Export helper", 8.6, "It made lists that no one had asked for."),
)
_REVOKED: Final = (("Old importer", 90.4, "All cards are imported."),)
_CUT_OFF: Final = (("Name speller", 12.3, "The new records have names as people spell them."),)
_EXPIRED_DAYS_AGO: Final = 37.9
_PROBED_DAYS_AGO, _BETWEEN_REFUSALS = 0.03, 0.0003  # days; ten refusals within four minutes


class PastAgents:
    """The agents of `team`, of whom Ann and Ben answer for three trees, and one who left for the fourth."""

    def __init__(self, lab: Installation, team: Team, *, seed: int) -> None:
        self._lab = lab
        self._team = team
        self._random = Random(f"{seed}:agents")
        self._events = Random(f"{seed}:events of agents")
        self._leaver_id: UUID | None = None
        self._ids: dict[str, UUID] = {}
        self._received: dict[str, UUID] = {}  # the delegation that an agent received, by its name
        self._tokens: dict[str, str] = {}
        self._caller: Caller | None = None  # the agent that works next

    def list_actions(self, end: datetime) -> Iterator[ScheduledAction]:
        """Yield what people did with the agents in the year until `end`, and what the agents did."""
        yield ScheduledAction(_JOINED_DAYS_AGO, self._join)
        for tree in TREES:
            for agent in tree.members:
                yield ScheduledAction(agent.born_days_ago, partial(self._add, tree, agent, end))
                if agent.rotated_days_ago is not None:
                    yield ScheduledAction(agent.rotated_days_ago, partial(self._rotate, tree, agent.name))
                yield from self._list_work(tree, agent)
        yield from self._list_ends()
        yield from self._list_probe()

    def _list_ends(self) -> Iterator[ScheduledAction]:
        for name, days_ago, reason in _SUSPENDED:
            yield ScheduledAction(days_ago, partial(self._suspend, name, reason))
        for name, days_ago, reason in _REVOKED:
            yield ScheduledAction(days_ago, partial(self._revoke, name, reason))
        for name, days_ago, reason in _CUT_OFF:
            yield ScheduledAction(days_ago, partial(self._cut_off, name, reason))
        yield ScheduledAction(_EXPIRED_DAYS_AGO, self._expire)
        yield ScheduledAction(_LEFT_DAYS_AGO, self._leave)

    def _list_probe(self) -> Iterator[ScheduledAction]:
        """Yield ten requests in the last session of an agent, each for what it has no scope for."""
        for number in range(PROBE_REFUSALS):
            days_ago, wanted = _PROBED_DAYS_AGO - number * _BETWEEN_REFUSALS, WANTED[number % len(WANTED)]
            yield ScheduledAction(
                days_ago, partial(self._ask_in_vain, wanted), look=partial(self._authenticate, PROBING)
            )

    def _ask_in_vain(self, path: str, tx: Transaction) -> None:
        assert self._caller is not None, "an agent is authenticated before it asks"
        ask_in_vain(tx, path, self._caller, at=self._lab.clock.now())

    def _join(self, tx: Transaction) -> None:
        now, tenant_id, (address, name) = self._lab.clock.now(), self._team["ann"].tenant_id, LEAVER
        org_id = org_store.get_first_org(tx.exec, tenant_id)
        person = UserRecord(new_id(now), tenant_id, org_id, address, name, "", Role.MEMBER.value, now)
        add_person(tx, person)
        self._leaver_id = person.id

    def _leave(self, tx: Transaction) -> None:
        assert self._leaver_id is not None, "who leaves has joined"
        self._lab.people.remove(self._leaver_id, caller=self._team["ann"], tx=tx)

    def _add(self, tree: FleetTree, agent: FleetAgent, end: datetime, tx: Transaction) -> None:
        """Register a root, or let its parent delegate to a new agent."""
        caller, body = self._caller_for(tree), self._describe(tree, agent, end)
        if agent.parent is None or agent.name == OWN_KEY:
            proven = self._prove_own_key(body, caller, tx) if agent.name == OWN_KEY else body
            self._ids[agent.name] = self._lab.agents.registry.register(proven, caller=caller, tx=tx).row.id
        if agent.parent is not None:
            known = self._ids.get(agent.name)
            hop = DelegationIn(
                child_agent_id=None if known is None else str(known),
                child=body if known is None else None,
                scopes=agent.scopes.split(),
                expires_at=body.expires_at or end.replace(microsecond=0) + _DELEGATED_FOR,
            )
            delegations = self._lab.agents.delegations
            prepared = delegations.prepare(hop)
            made = delegations.delegate(self._ids[agent.parent], hop, caller=caller, prepared=prepared, tx=tx)
            self._ids[agent.name], self._received[agent.name] = made.row.child_agent_id, made.row.id

    def _describe(self, tree: FleetTree, agent: FleetAgent, end: datetime) -> AgentIn:
        members: dict[str, object] = {
            "agent_type": agent.agent_type.value,
            "display_name": agent.name,
            "description": agent.description,
            "scopes": agent.scopes.split(),
        }
        if agent.ends_in_days is not None:
            members["expires_at"] = (end + timedelta(days=agent.ends_in_days)).isoformat()
        if tree.owner not in self._team:
            members["owner_user_id"] = str(self._leaver_id)
        return AgentIn.model_validate(members)

    def _prove_own_key(self, body: AgentIn, caller: Caller, tx: Transaction) -> AgentIn:
        """Let the holder of a new key sign the challenge, and forget the key."""
        private = Ed25519PrivateKey.generate()
        public_key = b64url_encode(private.public_key().public_bytes_raw())
        challenge = self._lab.agents.keys.challenge(public_key, caller=caller, tx=tx).challenge
        proof = b64url_encode(private.sign(PROOF_PREFIX + challenge.encode()))
        return body.model_copy(update={"public_key": public_key, "proof": proof})

    def _rotate(self, tree: FleetTree, name: str, tx: Transaction) -> None:
        self._lab.agents.keys.rotate(self._ids[name], prepare_key(None), caller=self._caller_for(tree), tx=tx)

    def _suspend(self, name: str, reason: str, tx: Transaction) -> None:
        self._lab.agents.lifecycle.suspend(self._ids[name], reason=reason, caller=self._team["ann"], tx=tx)

    def _revoke(self, name: str, reason: str, tx: Transaction) -> None:
        self._lab.agents.lifecycle.revoke(self._ids[name], reason=reason, caller=self._team["ben"], tx=tx)

    def _expire(self, tx: Transaction) -> None:
        self._lab.agents.expire(tx, at_most=len(self._ids))

    def _cut_off(self, name: str, reason: str, tx: Transaction) -> None:
        caller, delegations = self._team["ann"], self._lab.agents.delegations
        delegations.revoke(self._received[name], reason=reason, caller=caller, tx=tx)

    def _list_work(self, tree: FleetTree, agent: FleetAgent) -> Iterator[ScheduledAction]:
        """Yield the sessions of an agent; in each it records a run, unless its key is its own."""
        days_ago = min(agent.born_days_ago - 0.2, agent.idle_days_ago + _WORKING_DAYS)
        while agent.rest_days and days_ago > agent.idle_days_ago:
            yield from self._work(tree, agent, days_ago, self._random.choice(_TTL_MINUTES))
            days_ago -= agent.rest_days * self._random.uniform(0.7, 1.3)
        if agent.rest_days:
            yield from self._work(tree, agent, agent.idle_days_ago, _TTL_MINUTES[-1])

    def _work(self, tree: FleetTree, agent: FleetAgent, days_ago: float, minutes: int) -> Iterator[ScheduledAction]:
        yield ScheduledAction(days_ago, partial(self._open, tree, agent.name, minutes))
        act = self._note_use if agent.name == OWN_KEY else partial(self._run, tree, agent.name)
        yield ScheduledAction(days_ago - _UNTIL_WORK, act, look=partial(self._authenticate, agent.name))

    def _open(self, tree: FleetTree, name: str, minutes: int, tx: Transaction) -> None:
        body = AgentSessionIn(agent_id=self._ids[name], ttl_minutes=minutes)
        self._tokens[name] = self._lab.agents.sessions.open(body, caller=self._caller_for(tree), tx=tx).token

    def _authenticate(self, name: str) -> None:
        now = self._lab.clock.now()
        self._caller = self._lab.agents.authentication.authenticate(self._tokens[name], now=now)

    def _run(self, tree: FleetTree, name: str, tx: Transaction) -> None:
        """Let an agent record the two steps of a run, which its owner starts and ends."""
        assert self._caller is not None, "an agent is authenticated before it works"
        runs, owner = self._lab.agents.runs, self._caller_for(tree)
        plan = {"steps": [{"id": "read", "type": "read"}, {"id": "report", "type": "report", "depends_on": ["read"]}]}
        body = {"agent_id": self._caller.actor_id, "name": f"Daily work of {name}", "plan": plan}
        run_id = runs.start(RunIn.model_validate(body), caller=owner, tx=tx).row.id
        inputs = self._draw_hash()
        for step_id in ("read", "report"):
            outputs = self._draw_hash()
            step = RunStepIn(
                step_id=step_id,
                inputs_hash=inputs,
                outputs_hash=outputs,
                status=StepStatus.COMPLETED,
                latency_ms=self._random.randrange(40, 4_000),
            )
            runs.record(run_id, step, caller=self._caller, tx=tx)
            inputs = outputs
        runs.complete(run_id, RunCompleteIn(status=RunEnd.COMPLETED), caller=owner, tx=tx)
        self._report_events(self._caller, tx)
        self._note_use(tx)

    def _report_events(self, agent: Caller, tx: Transaction) -> None:
        """Let an agent report the calls of its run: a few, of which one in thirty fails."""
        for _ in range(self._events.randrange(3, 9)):
            body = AgentEventIn(
                agent_id=agent.actor_id,
                event_type=self._events.choice(_CALLS),
                status=AgentEventStatus.ERROR if self._events.random() < 1 / 30 else AgentEventStatus.OK,
                latency_ms=round(self._events.lognormvariate(5.5, 0.9), 1),
            )
            self._lab.agents.events.report(body, caller=agent, tx=tx)

    def _draw_hash(self) -> str:
        return self._random.randbytes(32).hex()

    def _note_use(self, tx: Transaction) -> None:
        """Write when sessions were last used, as the sweep of a server does."""
        self._lab.agents.drop_overdue(tx)

    def _caller_for(self, tree: FleetTree) -> Caller:
        return self._team[tree.owner if tree.owner in self._team else "ann"]
