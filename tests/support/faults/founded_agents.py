"""Agents of a tenant with all that agents have: keys, delegations, sessions, votes, runs, and proofs of own keys."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from attestlab.agents.compliance.rules import EntityKind, Regulation
from attestlab.agents.compliance.shapes import ComplianceCheckIn
from attestlab.agents.delegation.shapes import DelegationIn
from attestlab.agents.keys import prepare_key
from attestlab.agents.observability.rules import AgentEventStatus
from attestlab.agents.observability.shapes import AgentEventIn
from attestlab.agents.runs.rules import StepStatus
from attestlab.agents.runs.shapes import PlannedStepIn, RunCompleteIn, RunIn, RunPlanIn, RunStepIn
from attestlab.agents.sessions.service import AgentTokens
from attestlab.agents.sessions.shapes import AgentSessionIn
from attestlab.agents.shapes import AgentIn, AgentPatch
from attestlab.agents.tables import AgentRecord
from attestlab.agents.witnessing.rules import VoteVerdict
from attestlab.agents.witnessing.shapes import VotedClaimIn, VoteIn, VoteRequestIn
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from support.agents import KeyHolder, sign_assertion
from support.runs import digest


def employ_agents(lab: Installation, name: str, caller: Caller) -> None:
    """Two generations of agents with sessions, one that holds its own key, and one that was stopped."""
    services = lab.agents
    root = register(lab, f"{name} root", caller)
    child = delegate(lab, root, f"{name} child", caller)
    delegate(lab, child, f"{name} grandchild", caller)
    services.keys.rotate(root.id, prepare_key(None), caller=caller)
    opened = services.sessions.open(AgentSessionIn(agent_id=root.id, ttl_minutes=len(name)), caller=caller)
    refreshed = services.sessions.refresh(opened.session.row.id, opened.refresh_token)
    assert isinstance(refreshed, AgentTokens)
    hold_own_key(lab, name, caller)
    stopped = register(lab, f"{name} stopped", caller)
    hear_votes(lab, root, stopped, name, caller)
    report_events(lab, root, opened.session.row.id, name, caller)
    check_compliance(lab, child, caller)

    record_runs(lab, root, name, caller)
    end_delegation(lab, root, name, caller)
    services.preferences.set_grace_days(len(name), caller=caller)
    services.keys.compromise(stopped.id, stopped.key_id, reason=f"{name} lost it", caller=caller)
    services.authentication.authenticate(refreshed.token, now=lab.clock.now())
    with lab.storage.write() as tx:
        services.drop_overdue(tx)  # which writes when sessions were last used


def register(lab: Installation, name: str, caller: Caller) -> AgentRecord:
    """An agent whose key the service holds."""
    body = AgentIn(display_name=name, scopes=["docs:*", "mail:send"], metadata={"name": name})
    return lab.agents.registry.register(body, caller=caller).row


def delegate(lab: Installation, parent: AgentRecord, name: str, caller: Caller) -> AgentRecord:
    """A new child, with fewer scopes."""
    body = DelegationIn(child=AgentIn(display_name=name), scopes=["docs:read"])
    delegations = lab.agents.delegations
    return delegations.delegate(parent.id, body, caller=caller, prepared=delegations.prepare(body)).child.row


def end_delegation(lab: Installation, parent: AgentRecord, name: str, caller: Caller) -> None:
    """A delegation that was revoked."""
    body = DelegationIn(child=AgentIn(display_name=f"{name} guest"), scopes=["mail:send"])
    delegations = lab.agents.delegations
    given = delegations.delegate(parent.id, body, caller=caller, prepared=delegations.prepare(body))
    delegations.revoke(given.row.id, reason=f"{name} is done", caller=caller)


def hear_votes(lab: Installation, originator: AgentRecord, voter: AgentRecord, name: str, caller: Caller) -> None:
    """A claim that a vote confirmed, and one that waits for more votes."""
    claim = VotedClaimIn(subject=f"{name} invoice", claim_type="total", claim_value="7.00 EUR")
    for required in (1, 2):
        asked = VoteRequestIn(originator_agent_id=str(originator.id), claim=claim, required_witnesses=required)
        request = lab.agents.witnessing.request(asked, caller=caller)
        vote = VoteIn(agent_id=str(voter.id), verdict=VoteVerdict.CONFIRM, evidence=f"{name} paid", confidence=0.75)
        lab.agents.witnessing.vote(request.id, vote, caller=caller)


def check_compliance(lab: Installation, agent: AgentRecord, caller: Caller) -> None:
    """A check of an agent that failed, one of GDPR that passed, and the trust scores that follow."""
    owner = lab.people.list_page(caller=caller)[-1]
    for patch in (AgentPatch(), AgentPatch(owner_user_id=owner.id, expires_at=lab.clock.now() + timedelta(days=9))):
        lab.agents.registry.update(agent.id, patch, caller=caller)
        body = ComplianceCheckIn(entity_type=EntityKind.AGENT, entity_id=str(agent.id), regulation=Regulation.GDPR)
        lab.agents.compliance.check(body, caller=caller)


def record_runs(lab: Installation, agent: AgentRecord, name: str, caller: Caller) -> None:
    """A run that ended with both of its steps, and an open one with the first."""
    row = [PlannedStepIn(id="read", type="fetch"), PlannedStepIn(id="sum", type="compute", depends_on=["read"])]
    for recorded in (row, row[:1]):
        body = RunIn(agent_id=str(agent.id), name=f"{name} invoices", plan=RunPlanIn(steps=row))
        run = lab.agents.runs.start(body, caller=caller).row
        for step in recorded:
            hashes = {"inputs_hash": digest(name), "outputs_hash": digest(f"{name} {step.id}")}
            sent = RunStepIn(step_id=step.id, status=StepStatus.COMPLETED, latency_ms=len(name), **hashes)
            lab.agents.runs.record(run.id, sent, caller=caller)
        if recorded is row:
            lab.agents.runs.complete(run.id, RunCompleteIn(), caller=caller)


def report_events(lab: Installation, agent: AgentRecord, session_id: UUID, name: str, caller: Caller) -> None:
    """An event that went well, and one of a session that did not."""
    attributes: dict[str, object] = {"tool": name}
    went_well = AgentEventIn(agent_id=str(agent.id), event_type="tool.call", latency_ms=12.5, attributes=attributes)
    failed = {"status": AgentEventStatus.ERROR, "session_id": session_id}
    for body in (went_well, went_well.model_copy(update=failed)):
        lab.agents.events.report(body, caller=caller)


def hold_own_key(lab: Installation, name: str, caller: Caller) -> None:
    """An agent that proved its own key and opened a session by it, and a challenge without an answer."""
    holder, other = KeyHolder(), KeyHolder()
    proof = holder.answer(lab.agents.keys.challenge(holder.public_key, caller=caller).challenge)
    body = AgentIn.model_validate({"display_name": f"{name} holder", **proof})
    agent = lab.agents.registry.register(body, caller=caller).row
    assertion = sign_assertion(holder, {"id": str(agent.id)}, lab)
    lab.agents.sessions.open_by_assertion(AgentSessionIn(assertion=assertion))
    lab.agents.keys.challenge(other.public_key, caller=caller)
