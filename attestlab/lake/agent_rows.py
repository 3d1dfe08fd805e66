"""The data sets of machine agents and of all that belongs to them, as they are now."""

from __future__ import annotations

from attestlab.agents import lake_rows
from attestlab.agents.runs.lake_rows import select_run_steps
from attestlab.lake.columns import BOOL, NUMBER, TEXT, TEXTS, TIME, WHOLE, Column
from attestlab.lake.current_rows import CurrentRows

_TENANT = Column(TEXT, "The tenant. Format: UUID, 36 characters.")

AGENTS = CurrentRows(
    "agents",
    {
        "id": Column(TEXT, "The agent. Format: UUID, 36 characters."),
        "agent_id": Column(TEXT, "The agent in protocols. Format: maip:<8 digits of the tenant>:<ULID>."),
        "tenant_id": _TENANT,
        "agent_type": Column(TEXT, "What it is for. Format: a type of agent."),
        "display_name": Column(TEXT, "Its name. Format: one line, 1-256 characters."),
        "status": Column(TEXT, "Its status in the log. Format: active, suspended or revoked."),
        "scopes": Column(TEXTS, "Its own scopes, as sent. Format: resource:action or resource:*, after ! a deny."),
        "delegated_scopes": Column(
            TEXTS,
            "The scopes that it got by delegation; null without one. Format: allows, then denies after !.",
            nullable=True,
        ),
        "delegated_until": Column(TIME, "When that delegation ends. Format: UTC, microseconds.", nullable=True),
        "parent_agent_id": Column(TEXT, "The agent that delegated to it. Format: UUID, 36 characters.", nullable=True),
        "delegation_depth": Column(WHOLE, "Its distance from the agent without a parent. Format: 0-8."),
        "custody": Column(TEXT, "Who holds its private key. Format: managed or external."),
        "key_id": Column(TEXT, "Its newest key. Format: agk_ and 24 hex digits."),
        "discoverable": Column(BOOL, "Whether its card and its public keys are public. Format: true or false."),
        "trust_score": Column(NUMBER, "How far its evidence reaches; 0.5 without any. Format: 0.000-1.000."),
        "created_by_user_id": Column(TEXT, "The person who registered it. Format: UUID, 36 characters.", nullable=True),
        "owner_user_id": Column(TEXT, "The person who answers for it. Format: UUID, 36 characters.", nullable=True),
        "owner_left_at": Column(TIME, "When that person was removed. Format: UTC, microseconds.", nullable=True),
        "expires_at": Column(TIME, "From then on it is revoked. Format: UTC, microseconds.", nullable=True),
        "status_changed_at": Column(TIME, "When its status last changed. Format: UTC, microseconds.", nullable=True),
        "changed_index": Column(WHOLE, "The log entry of that change. Format: from 0.", nullable=True),
        "created_at": Column(TIME, "When it was registered. Format: UTC, microseconds."),
        "updated_at": Column(TIME, "When it last changed. Format: UTC, microseconds."),
    },
    lake_rows.select_agents,
)
AGENT_SESSIONS = CurrentRows(
    "agent_sessions",
    {
        "id": Column(TEXT, "The session. Format: UUID, 36 characters."),
        "tenant_id": _TENANT,
        "agent_id": Column(TEXT, "The agent. Format: UUID, 36 characters."),
        "scopes": Column(TEXTS, "What it may do, within what the agent may. Format: allows, then denies after !."),
        "opened_by": Column(TEXT, "What opened it. Format: USER, API_KEY or ASSERTION."),
        "on_behalf_of": Column(TEXT, "The person for whom the agent acts. Format: UUID, 36 characters.", nullable=True),
        "expires_at": Column(TIME, "When its present token expires. Format: UTC, microseconds."),
        "refresh_until": Column(TIME, "Until when it can be refreshed. Format: UTC, microseconds."),
        "ended_at": Column(TIME, "When it was ended before that. Format: UTC, microseconds.", nullable=True),
        "ended_because": Column(TEXT, "Why it was ended. Format: one word.", nullable=True),
        "created_at": Column(TIME, "When it was opened. Format: UTC, microseconds."),
    },
    lake_rows.select_sessions,
)
DELEGATIONS = CurrentRows(
    "delegations",
    {
        "id": Column(TEXT, "The delegation. Format: UUID, 36 characters."),
        "tenant_id": _TENANT,
        "parent_agent_id": Column(TEXT, "The agent that delegated. Format: UUID, 36 characters."),
        "child_agent_id": Column(TEXT, "The agent that received it. Format: UUID, 36 characters."),
        "previous_id": Column(
            TEXT, "The delegation that the parent itself received. Format: UUID, 36 characters.", nullable=True
        ),
        "depth": Column(WHOLE, "Its distance from the root. Format: 1-8."),
        "scopes": Column(TEXTS, "What it grants. Format: allows, then denies after !."),
        "kid": Column(TEXT, "The parent's key that signed it. Format: agk_ and 24 hex digits."),
        "log_index": Column(WHOLE, "The log entry with which it began. Format: from 0."),
        "expires_at": Column(TIME, "Its end. Format: UTC, microseconds."),
        "revoked_at": Column(TIME, "When it was revoked. Format: UTC, microseconds.", nullable=True),
        "revoked_because": Column(TEXT, "Why it was revoked. Format: one word.", nullable=True),
        "revoked_index": Column(WHOLE, "The log entry of the revocation. Format: from 0.", nullable=True),
        "created_at": Column(TIME, "When it was made. Format: UTC, microseconds."),
    },
    lake_rows.select_delegations,
)
WITNESS_VOTES = CurrentRows(
    "witness_votes",
    {
        "id": Column(TEXT, "The vote. Format: UUID, 36 characters."),
        "tenant_id": _TENANT,
        "request_id": Column(TEXT, "The request for votes. Format: UUID, 36 characters."),
        "agent_id": Column(TEXT, "The agent that voted. Format: UUID, 36 characters."),
        "originator_agent_id": Column(TEXT, "The agent that makes the claim. Format: UUID, 36 characters."),
        "subject": Column(TEXT, "What the claim is about. Format: text, 1-1000 characters."),
        "claim_type": Column(TEXT, "What is claimed of it. Format: text, 1-1000 characters."),
        "claim_value": Column(TEXT, "The value that is claimed. Format: text, 1-1000 characters."),
        "verdict": Column(TEXT, "What the agent said. Format: confirm, deny or abstain."),
        "confidence": Column(NUMBER, "How sure the agent was. Format: 0-1.", nullable=True),
        "kid": Column(TEXT, "The agent's key that signed it. Format: agk_ and 24 hex digits."),
        "request_status": Column(
            TEXT, "What the votes decided, as recorded. Format: pending, confirmed, denied or expired."
        ),
        "required_votes": Column(WHOLE, "How many agents must confirm, or deny, to decide. Format: 1-10."),
        "decided_at": Column(TIME, "When it was decided, or expired. Format: UTC, microseconds.", nullable=True),
        "created_at": Column(TIME, "When the vote counted. Format: UTC, microseconds."),
    },
    lake_rows.select_votes,
)
COMPLIANCE_FINDINGS = CurrentRows(
    "compliance_findings",
    {
        "id": Column(TEXT, "The finding. Format: UUID, 36 characters."),
        "check_id": Column(TEXT, "The check. Format: UUID, 36 characters."),
        "tenant_id": _TENANT,
        "entity_type": Column(TEXT, "What was checked. Format: agent, issuer or tenant."),
        "entity_id": Column(TEXT, "The agent, issuer or tenant. Format: UUID, 36 characters."),
        "regulation": Column(TEXT, "What selected the controls. Format: baseline or the name of a regulation."),
        "check_status": Column(TEXT, "The result of the check. Format: passed, warning or failed."),
        "control": Column(TEXT, "The control. Format: a name of the table in docs/agents.md."),
        "severity": Column(TEXT, "How much a failure matters. Format: low, medium or high."),
        "passed": Column(BOOL, "Whether the fact meets the control. Format: true or false."),
        "title": Column(TEXT, "What the control asks. Format: one line."),
        "evidence": Column(TEXT, "The fact. Format: one sentence."),
        "created_at": Column(TIME, "When the facts were read. Format: UTC, microseconds."),
    },
    lake_rows.select_findings,
)
RUN_STEPS = CurrentRows(
    "run_steps",
    {
        "id": Column(TEXT, "The recorded step. Format: UUID, 36 characters."),
        "tenant_id": _TENANT,
        "orchestration_id": Column(TEXT, "The run. Format: UUID, 36 characters."),
        "run_name": Column(TEXT, "What people call the run. Format: text, 1-200 characters."),
        "run_agent_id": Column(TEXT, "The agent whose run it is. Format: UUID, 36 characters."),
        "run_status": Column(TEXT, "The run's status now. Format: running, completed, failed or canceled."),
        "planned_steps": Column(WHOLE, "The steps of the run's plan. Format: 1-100."),
        "recorded_steps": Column(WHOLE, "Those that are recorded now. Format: 1-100."),
        "log_index": Column(WHOLE, "The log entry of the run's end. Format: from 0.", nullable=True),
        "step_id": Column(TEXT, "The step of the plan. Format: 1-64 of a-z A-Z 0-9 _ -."),
        "position": Column(WHOLE, "Its place in the plan. Format: 0-99."),
        "type": Column(TEXT, "What kind of work it is. Format: 1-32 of a-z _."),
        "depends_on": Column(TEXTS, "The steps recorded before it. Format: ids of the plan."),
        "planned_agent_id": Column(
            TEXT, "The agent that the plan names for it. Format: UUID, 36 characters.", nullable=True
        ),
        "agent_id": Column(TEXT, "The agent that recorded it. Format: UUID, 36 characters."),
        "status": Column(TEXT, "How it ended, as its agent says. Format: completed, failed or skipped."),
        "inputs_hash": Column(TEXT, "What it took. Format: SHA-256, 64 lowercase hex digits."),
        "outputs_hash": Column(TEXT, "What it put out. Format: SHA-256, 64 lowercase hex digits."),
        "chain_ok": Column(BOOL, "Whether it took what its dependencies put out. Format: true or false."),
        "latency_ms": Column(WHOLE, "How long it took, as its agent says. Format: milliseconds.", nullable=True),
        "kid": Column(TEXT, "The agent's key that signed it. Format: agk_ and 24 hex digits."),
        "recorded_at": Column(TIME, "When it was recorded. Format: UTC, microseconds."),
    },
    select_run_steps,
)
