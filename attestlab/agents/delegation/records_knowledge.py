"""What the service knows about the hops of a chain, from its records (`verification.Knowledge`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from uuid import UUID

from attestlab.agents import rules as agent_rules
from attestlab.agents.delegation import store
from attestlab.agents.delegation.hops import ALGORITHM, Hop
from attestlab.agents.delegation.verification import Knowledge, KnownAgent, KnownKey, RecordedHop
from attestlab.agents.effective_scopes import parse_stored
from attestlab.agents.rules import AgentStatus
from attestlab.agents.tables import AgentKeyRecord, AgentRecord
from attestlab.core.crypto import signing
from attestlab.core.db.tables import Execute
from attestlab.issuers.rules import KeyStatus


def find_knowledge(execute: Execute, hops: Sequence[Hop], *, now: datetime) -> Knowledge:
    """Find what the records have about hops: their delegations, agents and keys, of any tenant."""
    rows = store.find_many(execute, [UUID(hop.id) for hop in hops])
    agents = store.find_agents(execute, {UUID(each) for hop in hops for each in (hop.parent, hop.child)})
    return Knowledge(
        keys={key.kid: key for key in _list_known_keys(store.list_keys(execute, list(agents)))},
        revoked={str(row.id) for row in rows if row.revoked_at is not None},
        agents={str(row.id): _know_agent(row, now) for row in agents.values()},
        recorded={str(row.id): RecordedHop(row.digest, row.log_index, row.created_at) for row in rows},
    )


def _know_agent(row: AgentRecord, now: datetime) -> KnownAgent:
    status = agent_rules.status_at(row.status, row.expires_at, now)
    ended = None if status is AgentStatus.ACTIVE else status.value
    return KnownAgent(str(row.tenant_id), parse_stored(row.scopes), ended)


def _list_known_keys(rows: Iterable[AgentKeyRecord]) -> Iterable[KnownKey]:
    """List keys with their places; the rows of an agent come together, oldest first."""
    by_agent = sorted(rows, key=lambda row: (row.agent_id, row.log_index))
    for _, ledger in groupby(by_agent, key=lambda row: row.agent_id):
        yield from (_know_key(row, position) for position, row in enumerate(ledger))


def _know_key(row: AgentKeyRecord, position: int) -> KnownKey:
    public = signing.load_public(ALGORITHM, row.spki)
    return KnownKey(
        row.kid,
        str(row.agent_id),
        public,
        signing.thumbprint(ALGORITHM, public),
        position,
        None if row.status == KeyStatus.ACTIVE else row.changed_index,
        row.compromised_at,
    )
