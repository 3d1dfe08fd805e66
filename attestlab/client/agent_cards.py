"""The contents of the cards of agents, their sessions, delegations, runs and votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code, write_time

if TYPE_CHECKING:
    from attestlab.agents.delegation.shapes import ChainVerdictOut, DelegationOut
    from attestlab.agents.runs.shapes import RunStepOut, RunSummaryOut
    from attestlab.agents.sessions.shapes import AgentSessionOut
    from attestlab.agents.shapes import AgentKillOut, AgentOut
    from attestlab.agents.witnessing.shapes import ConsensusOut, VoteRequestOut, VoteResultOut

_TONES = {
    **{"active": CardTone.GOOD, "VALID": CardTone.GOOD},
    **{"suspended": CardTone.WARN, "expired": CardTone.WARN, "EXPIRED": CardTone.WARN},
    **{"completed": CardTone.GOOD, "running": CardTone.CALM, "open": CardTone.CALM, "skipped": CardTone.CALM},
    **{"canceled": CardTone.WARN},
    **{"terminated": CardTone.CALM, "pending": CardTone.CALM, "confirmed": CardTone.GOOD},
}


def draw_agent(agent: AgentOut) -> str:
    """Draw the card of an agent: what it may do, who answers for it, and how to stop it."""
    rows = [
        CardRow("Kind", f"{agent.agent_type}, {agent.trust_level} ({agent.trust_score:.3f})"),
        CardRow("May", ", ".join(agent.effective_scopes) or "nothing"),
        CardRow("Depth", f"{agent.delegation_depth}" if agent.parent_agent_id is not None else None),
        CardRow("Sessions", f"{agent.session_count:,} open"),
        CardRow("Owner", write_code(agent.owner_user_id) if agent.owner_user_id else "no one"),
        CardRow("Id", write_code(agent.agent_id)),
    ]
    foot = join("What would stop: ", write_code('agent.kill("why", dry_run=True)'))
    return draw_card(_tone_of(agent.status), agent.status, agent.display_name, rows, foot=foot)


def draw_kill(killed: AgentKillOut) -> str:
    """Draw the card of a kill, or of its dry run."""
    tone, word = (CardTone.WARN, "DRY RUN") if killed.dry_run else (CardTone.BAD, "KILLED")
    rows = [
        CardRow("Agents below", f"{killed.revoked_descendants:,}"),
        CardRow("Sessions", f"{killed.terminated_sessions:,}"),
        CardRow("Delegations", f"{killed.revoked_delegations:,}"),
    ]
    foot = "Nothing was changed." if killed.dry_run else None
    return draw_card(tone, word, killed.agent.display_name, rows, foot=foot)


def draw_session(session: AgentSessionOut) -> str:
    """Draw the card of a session, without its tokens."""
    person = session.on_behalf_of
    rows = [
        CardRow("May", ", ".join(session.scopes) or "nothing"),
        CardRow("For", write_code(person) if person else None),
        CardRow("Until", write_time(session.expires_at)),
        CardRow("Agent", write_code(session.agent_id)),
        CardRow("Id", write_code(session.id)),
    ]
    return draw_card(_tone_of(session.status), session.status, "Session of an agent", rows)


def draw_delegation(delegation: DelegationOut) -> str:
    """Draw the card of a delegation."""
    rows = [
        CardRow("Allows", ", ".join(delegation.scopes) or "nothing"),
        CardRow("Denies", ", ".join(delegation.denied_scopes) or None),
        CardRow("Until", write_time(delegation.expires_at)),
        CardRow("Depth", str(delegation.depth)),
        CardRow("Id", write_code(delegation.delegation_id)),
    ]
    foot = join("Check it: ", write_code("delegation.verify()"))
    title = f"To {delegation.child.display_name}"
    return draw_card(_tone_of(delegation.status), delegation.status, title, rows, foot=foot)


def draw_verdict(verdict: ChainVerdictOut) -> str:
    """Draw the card of a verdict about a chain."""
    rows = [
        CardRow("Why", " ".join(verdict.reasons) or None),
        CardRow("May", ", ".join(verdict.effective_scopes) or "nothing"),
        CardRow("Never", ", ".join(verdict.denied_scopes) or None),
        CardRow("Until", verdict.expires_at and write_time(verdict.expires_at)),
        CardRow("Leaf", verdict.leaf_agent_id and write_code(verdict.leaf_agent_id)),
    ]
    hops = "1 hop" if verdict.depth == 1 else f"{verdict.depth} hops"
    return draw_card(_tone_of(verdict.verdict), verdict.verdict, f"Chain of {hops}", rows)


def draw_run(run: RunSummaryOut) -> str:
    """Draw the card of a run."""
    rows = [
        CardRow("Steps", f"{run.recorded_steps} of {run.planned_steps} recorded"),
        CardRow("Chain", "each step took what its dependencies put out" if run.chain_ok else "does not fit"),
        CardRow("Log", None if run.log_index is None else f"entry {run.log_index}"),
        CardRow("Agent", write_code(run.agent_id)),
        CardRow("Id", write_code(run.orchestration_id)),
    ]
    foot = join("Its steps: ", write_code("run.details().steps.df()"))
    return draw_card(_tone_of(run.status), run.status, run.name, rows, foot=foot)


def draw_run_step(step: RunStepOut) -> str:
    """Draw the card of a step of a run."""
    rows = [
        CardRow("After", ", ".join(step.depends_on) or None),
        CardRow("Chain", None if step.chain_ok is None else "fits" if step.chain_ok else "does not fit"),
        CardRow("Took", None if step.latency_ms is None else f"{step.latency_ms} ms"),
        CardRow("Agent", step.agent_id and write_code(step.agent_id)),
    ]
    return draw_card(_tone_of(step.status), step.status, f"Step {step.step_id}", rows)


def draw_vote_request(request: VoteRequestOut) -> str:
    """Draw the card of a request for votes."""
    claim = request.claim
    rows = [
        CardRow("Claim", f"{claim.claim_type}: {claim.claim_value}"),
        CardRow("Votes", _write_tally(request)),
        CardRow("Decided by", f"{request.required_witnesses} of a kind"),
        CardRow("Until", write_time(request.expires_at)),
        CardRow("Agent", write_code(request.originator_agent_id)),
        CardRow("Id", write_code(request.request_id)),
    ]
    foot = join("Its votes: ", write_code("request.consensus()"))
    return draw_card(_tone_of(request.status), request.status, claim.subject, rows, foot=foot)


def draw_vote(vote: VoteResultOut) -> str:
    """Draw the card of a vote that counts."""
    rows = [
        CardRow("Votes", _write_tally(vote)),
        CardRow("Counted at", write_time(vote.attested_at)),
        CardRow("Request", write_code(vote.request_id)),
    ]
    return draw_card(_tone_of(vote.status), vote.status, f"A vote to {vote.verdict}", rows)


def draw_consensus(consensus: ConsensusOut) -> str:
    """Draw the card of what votes decided."""
    rows = [
        CardRow("Votes", _write_tally(consensus)),
        CardRow("Decided by", f"{consensus.required_witnesses} of a kind"),
        CardRow("Decided at", consensus.decided_at and write_time(consensus.decided_at)),
        CardRow("Request", write_code(consensus.request_id)),
    ]
    foot = join("Each vote as signed: ", write_code("consensus.votes.df()"))
    return draw_card(_tone_of(consensus.status), consensus.status, "Votes about a claim", rows, foot=foot)


def _write_tally(tally: VoteRequestOut | VoteResultOut | ConsensusOut) -> str:
    return f"{tally.confirm} confirm, {tally.deny} deny, {tally.abstain} abstain"


def _tone_of(status: str) -> CardTone:
    return _TONES.get(status, CardTone.BAD)
