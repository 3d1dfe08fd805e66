"""HTTP routes of machine agents, their states, keys and statements (SPEC, /v1/agents; CONTRACT 11.8)."""

from functools import partial

from attestlab.agents.access import OWN_READERS, READERS, WRITERS
from attestlab.agents.keys import AgentKeys, PreparedKey, SentKey, prepare_key
from attestlab.agents.lifecycle import AgentLifecycle
from attestlab.agents.rendering import render_agent, render_challenge, render_key, render_kill, render_statement
from attestlab.agents.rules import parse_agent_id
from attestlab.agents.service import Agents, PreparedAgent
from attestlab.agents.shapes import (
    AgentChallengeIn,
    AgentChallengeOut,
    AgentIn,
    AgentKeyCompromiseIn,
    AgentKeyIn,
    AgentKeyOut,
    AgentKeyRotationOut,
    AgentKillIn,
    AgentKillOut,
    AgentOut,
    AgentPatch,
    AgentReasonIn,
    AgentsQuery,
    AgentStatementIn,
    AgentStatementOut,
)
from attestlab.agents.statements import AgentStatements
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, QuotaExceeded
from attestlab.core.execution.long_writes import LongWrites
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, PageQuery, decode_id, decode_number, split_page
from attestlab.web.request import Request
from attestlab.web.routing.authorization import Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
PEOPLE_AND_KEYS = Requirement(scope=Scope.AGENTS_WRITE, no_agents=True)
_LIST, _KEYS = "agents", "agent_keys"


async def _prepare_agent(body: AgentIn, agents: Agents) -> PreparedAgent:
    """Validate the scopes and make the first key before the write."""
    return agents.prepare(body)


async def _prepare_key(body: AgentKeyIn | None) -> PreparedKey:
    """Make the next key, or read the one that was sent, before the write."""
    if body is None or body.public_key is None:
        return prepare_key(None)
    return prepare_key(SentKey(body.public_key, body.proof))


@routes.post(
    "/v1/agents",
    scope=WRITERS,
    status=201,
    prepare=_prepare_agent,
    headers=("Location",),
    raises=(NotFound, QuotaExceeded),
)
def register_agent(
    request: Request, body: AgentIn, prepared: PreparedAgent, tx: Transaction, caller: Caller, agents: Agents
) -> AgentOut:
    """Register a machine agent, with a key that the service makes or one of the agent's own.

    The key is an entry of the log. An agent gets no scope of this service that its creator lacks. As many agents as
    the plan allows can exist at a time; revoked ones do not count.
    """
    added = agents.add(prepared, caller=caller, tx=tx)
    request.respond_headers["Location"] = f"/v1/agents/{added.row.id}"
    return render_agent(added)


@routes.get("/v1/agents", scope=READERS)
async def list_agents(query: AgentsQuery, caller: Caller, agents: Agents, executor: Executor) -> Page[AgentOut]:
    """List the tenant's agents, newest first; a text search reads them all, so it runs in a thread.

    Filters are combined. An agent that expired is revoked here from that moment on.
    """
    read = executor.run_in_thread if query.given_filters else executor.read
    before = decode_id(_LIST, query.cursor)
    found = await read(partial(agents.page, query, caller=caller, before=before, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda each: [str(each.row.id)])
    return Page[AgentOut](items=[render_agent(each) for each in shown], next_cursor=cursor)


@routes.post("/v1/agents/challenges", scope=WRITERS, status=201)
def create_agent_challenge(
    body: AgentChallengeIn, tx: Transaction, caller: Caller, agent_keys: AgentKeys
) -> AgentChallengeOut:
    """Get a challenge for an agent's own key, to register the key or rotate to it within five minutes.

    The proof is the Ed25519 signature of `attestlab-agent-key-v1`, a line feed and the challenge.
    """
    return render_challenge(agent_keys.challenge(body.public_key, caller=caller, tx=tx))


@routes.get("/v1/agents/{id}", scope=OWN_READERS)
def get_agent(id: str, caller: Caller, agents: Agents) -> AgentOut:
    """Get an agent by its UUID or its maip id, as it is now.

    An agent's own session gets the agent without any scope.
    """
    return render_agent(agents.get(parse_agent_id(id, tenant_id=caller.tenant_id), caller=caller))


@routes.patch("/v1/agents/{id}", scope=WRITERS, raises=(Conflict,))
def update_agent(id: str, body: AgentPatch, tx: Transaction, caller: Caller, agents: Agents) -> AgentOut:
    """Change an agent; omitted members stay unchanged.

    Narrower scopes hold for the next request of its sessions and of all agents below it. Wider ones than its parent
    has are a 409.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    return render_agent(agents.update(agent_id, body, caller=caller, tx=tx))


@routes.post("/v1/agents/{id}/suspend", scope=WRITERS)
def suspend_agent(
    id: str, body: AgentReasonIn, tx: Transaction, caller: Caller, agents: Agents, agent_lifecycle: AgentLifecycle
) -> AgentOut:
    """Suspend an active agent: its sessions end, and it opens no other until it is resumed.

    The change is an entry of the log, without the reason.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    row = agent_lifecycle.suspend(agent_id, reason=body.reason, caller=caller, tx=tx)
    return render_agent(agents.describe(tx.exec, [row])[0])


@routes.post("/v1/agents/{id}/resume", scope=PEOPLE_AND_KEYS)
def resume_agent(
    id: str, body: AgentReasonIn, tx: Transaction, caller: Caller, agents: Agents, agent_lifecycle: AgentLifecycle
) -> AgentOut:
    """Resume a suspended agent; the sessions that it had stay ended.

    While its key is reported as compromised, rotate the key first.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    row = agent_lifecycle.resume(agent_id, reason=body.reason, caller=caller, tx=tx)
    return render_agent(agents.describe(tx.exec, [row])[0])


@routes.post("/v1/agents/{id}/revoke", scope=WRITERS)
def revoke_agent(
    id: str, body: AgentReasonIn, tx: Transaction, caller: Caller, agents: Agents, agent_lifecycle: AgentLifecycle
) -> AgentOut:
    """Revoke an agent for good: its sessions end, and the delegations that it gave and got are void.

    The agents below it stay; a kill revokes them too.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    row = agent_lifecycle.revoke(agent_id, reason=body.reason, caller=caller, tx=tx)
    return render_agent(agents.describe(tx.exec, [row])[0])


@routes.post("/v1/agents/{id}/kill", scope=PEOPLE_AND_KEYS)
async def kill_agent(
    id: str,
    body: AgentKillIn,
    caller: Caller,
    agents: Agents,
    agent_lifecycle: AgentLifecycle,
    executor: Executor,
    long_writes: LongWrites,
) -> AgentKillOut:
    """Revoke an agent and all agents below it at once, with all their sessions and delegations.

    With `dry_run` nothing changes, and the answer counts what would end. All of it is one transaction: the next
    request of each of them is refused.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    kill = partial(
        agent_lifecycle.kill,
        agent_id,
        reason=body.reason,
        cascade=body.cascade,
        dry_run=body.dry_run,
        caller=caller,
    )
    killed = await long_writes.run(kill)
    (agent,) = await executor.read(agents.describe_now, [killed.agent])
    return render_kill(killed, agent=render_agent(agent))


@routes.get("/v1/agents/{id}/keys", scope=READERS)
def list_agent_keys(id: str, query: PageQuery, caller: Caller, agent_keys: AgentKeys) -> Page[AgentKeyOut]:
    """List all keys that an agent ever had, newest first, each with its entries of the log.

    Rotated and compromised keys stay in the list, because old signatures refer to them.
    """
    agent_id, before = parse_agent_id(id, tenant_id=caller.tenant_id), decode_number(_KEYS, query.cursor)
    found = agent_keys.page(agent_id, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_KEYS, position=lambda row: [row.log_index])
    return Page[AgentKeyOut](items=[render_key(row) for row in shown], next_cursor=cursor)


@routes.post("/v1/agents/{id}/keys/rotate", scope=WRITERS, prepare=_prepare_key)
def rotate_agent_key(
    id: str,
    body: AgentKeyIn | None,
    prepared: PreparedKey,
    tx: Transaction,
    caller: Caller,
    agent_keys: AgentKeys,
) -> AgentKeyRotationOut:
    """Replace the key of an agent with one that the service makes, or one of the agent's own with its proof.

    What the old key signed stays valid. Both changes are entries of the log.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    rotated = agent_keys.rotate(agent_id, prepared, caller=caller, tx=tx)
    return AgentKeyRotationOut(old_key=render_key(rotated.old), new_key=render_key(rotated.new))


@routes.post("/v1/agents/{id}/keys/{kid}/compromise", scope=WRITERS)
def compromise_agent_key(
    id: str, kid: str, body: AgentKeyCompromiseIn, tx: Transaction, caller: Caller, agent_keys: AgentKeys
) -> AgentKeyOut:
    """Report that others may have a key of an agent; an active agent is suspended at once.

    Rotate the key, then resume the agent. The report is an entry of the log, without the reason.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    row = agent_keys.compromise(
        agent_id, kid, reason=body.reason, compromised_at=body.compromised_at, caller=caller, tx=tx
    )
    return render_key(row)


@routes.post("/v1/agents/{id}/sign", scope=WRITERS)
def sign_agent_statement(
    id: str, body: AgentStatementIn, tx: Transaction, caller: Caller, agent_statements: AgentStatements
) -> AgentStatementOut:
    """Sign a statement of an agent as a JWT of the type `agent-statement+jwt`.

    The payload is wrapped as `statement`, so it can never pass as a delegation, an assertion or a vote. If the key is
    the agent's own, a first call answers 400 with what to sign, and a second one takes the signature.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    return render_statement(agent_statements.sign(agent_id, body, caller=caller, tx=tx))
