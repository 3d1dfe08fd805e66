"""Service for machine agents: register, get, list and change them (SPEC, Machine agent; CONTRACT 11.8)."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast
from uuid import UUID

from attestlab.agents import rules, store
from attestlab.agents.effective_scopes import compute_effective_scopes, require_grantable
from attestlab.agents.events import AgentRegistered
from attestlab.agents.keys import AgentKeys, PreparedKey, SentKey, prepare_key
from attestlab.agents.rules import AgentStatus, TrustLevel
from attestlab.agents.scopes import ScopeSet, parse_scopes
from attestlab.agents.sessions import store as session_store
from attestlab.agents.shapes import AgentCardIn, AgentIn, AgentPatch, AgentsQuery, list_sent
from attestlab.agents.tables import AgentKeyRecord, AgentRecord
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute, replace_columns
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs import store as org_store
from attestlab.orgs.role_rules import is_active
from attestlab.orgs.rules import Caller, Scope, validate_display_name
from attestlab.orgs.tables import UserRecord


@dataclass(frozen=True)
class AgentDetails:
    """An agent with its keys, newest first, and what follows from other rows."""

    row: AgentRecord
    status: AgentStatus
    effective_scopes: ScopeSet = field(repr=False)
    keys: Sequence[AgentKeyRecord] = field(repr=False)
    trust_level: TrustLevel = TrustLevel.AUTHENTICATED
    session_count: int = 0
    last_active_at: datetime | None = None


@dataclass(frozen=True)
class PreparedAgent:
    """An agent to register: the request, validated, and its first key."""

    body: AgentIn
    scopes: ScopeSet = field(repr=False)
    key: PreparedKey = field(repr=False)


class Agents:
    """The machine agents of all tenants. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, keys: AgentKeys) -> None:
        self.storage = storage
        self.clock = clock
        self.keys = keys

    def register(self, body: AgentIn, *, caller: Caller, tx: Transaction | None = None) -> AgentDetails:
        """Register an agent: `prepare`, then `add`; raises the errors of both."""
        return self.add(self.prepare(body), caller=caller, tx=tx)

    def prepare(self, body: AgentIn) -> PreparedAgent:
        """Validate a registration, and make or read its first key; needs no transaction.

        Raises:
            ValidationFailed: a scope, the key or the proof has another form, or a proof comes without its key.
        """
        if body.proof is not None and body.public_key is None:
            message = "A proof needs its public_key. Send both, or neither."
            raise ValidationFailed.of("/proof", "needs_public_key", message)
        sent = None if body.public_key is None else SentKey(body.public_key, body.proof)
        return PreparedAgent(body, parse_scopes(body.scopes), prepare_key(sent))

    def add(self, prepared: PreparedAgent, *, caller: Caller, tx: Transaction | None = None) -> AgentDetails:
        """Add a prepared agent: row, first key, log entry, audit lines and event.

        Raises:
            ValidationFailed: the name, the expiry, the metadata or the proof is not acceptable.
            QuotaExceeded: the tenant has as many agents as its plan allows.
            PermissionDenied: the agent would have a scope of this service that the caller lacks.
            NotFound: the tenant has no such owner.
            Conflict: the owner is not active, or the key is registered already.
        """
        body = prepared.body
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            columns = self._read_columns(tx, list_sent(body), caller, now)
            limit = quotas.allowance_of(caller).agents
            quotas.require_capacity("agents", limit, lambda: store.count(tx.exec, caller.tenant_id))
            context = AuditContext(caller.tenant_id, caller, "agent.register", now)
            row = replace_columns(_build_row(prepared, caller, now), columns)
            audited_write.insert(tx, store.agents, row, context)
            key = self.keys.add(tx, row.id, prepared.key, context=context)
            outbox.publish(tx, caller.tenant_id, AgentRegistered(row.id, row.agent_type, now), at=now)
        return AgentDetails(row, AgentStatus.ACTIVE, prepared.scopes.simplify(), [key])

    def get(self, agent_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> AgentDetails:
        """Get an agent of the caller's tenant; an agent may always get itself.

        Raises:
            NotFound: the caller's tenant has no such agent.
            PermissionDenied: the caller is another agent without the scope `agents:read`.
        """
        if Scope.AGENTS_READ not in caller.scopes and caller.actor_id != str(agent_id):
            message = f"This needs the scope {Scope.AGENTS_READ}."
            raise PermissionDenied(message, details={"required_scope": Scope.AGENTS_READ.value})
        with self.storage.read(tx) as connection:
            row = store.get(connection.execute, agent_id, tenant_id=caller.tenant_id)
            return self.describe(connection.execute, [row])[0]

    def page(
        self,
        query: AgentsQuery = AgentsQuery(),  # noqa: B008 frozen
        *,
        caller: Caller,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[AgentDetails]:
        """List the agents of the caller's tenant, newest first, starting after `before`."""
        with self.storage.read() as connection:
            execute, now = connection.execute, self.clock.now()
            rows = store.page(execute, query, tenant_id=caller.tenant_id, now=now, before=before, limit=limit)
            return self.describe(execute, rows)

    def update(
        self, agent_id: UUID, patch: AgentPatch, *, caller: Caller, tx: Transaction | None = None
    ) -> AgentDetails:
        """Change an agent; narrower scopes hold for the next request of its sessions and of all agents below it.

        Raises:
            NotFound: the caller's tenant has no such agent or owner.
            ValidationFailed: a field is not acceptable.
            PermissionDenied: the agent would have a scope that the caller lacks.
            Conflict: the agent is revoked, its scopes would exceed those of its parent, or the owner is not active.
        """
        with self.storage.write(tx) as tx:
            row, now = store.get(tx.exec, agent_id, tenant_id=caller.tenant_id), self.clock.now()
            rules.require_unrevoked(rules.status_at(row.status, row.expires_at, now))
            columns = self._read_columns(tx, list_sent(patch), caller, now, row)
            changes = {name: value for name, value in columns.items() if getattr(row, name) != value}
            if changes:
                context = AuditContext(caller.tenant_id, caller, "agent.update", now)
                row = audited_write.change(tx, store.agents, row, {**changes, "updated_at": now}, context)
            return self.describe(tx.exec, [row])[0]

    def describe_now(self, rows: Sequence[AgentRecord]) -> list[AgentDetails]:
        """Do the same as `describe`, with what is committed."""
        with self.storage.read() as connection:
            return self.describe(connection.execute, rows)

    def describe(self, execute: Execute, rows: Sequence[AgentRecord]) -> list[AgentDetails]:
        """Add to agents what follows from other rows: keys, effective scopes and sessions."""
        now, ids = self.clock.now(), [row.id for row in rows]
        keys = store.list_keys(execute, ids)
        above = store.list_ancestors(execute, [row.id for row in rows if row.parent_agent_id is not None])
        open_sessions = session_store.count_open_by_agent(execute, ids, now=now)
        last_uses = session_store.find_last_uses(execute, ids)
        owners = store.list_active_people(execute, {row.owner_user_id for row in rows if row.owner_user_id is not None})
        return [
            AgentDetails(
                row,
                rules.status_at(row.status, row.expires_at, now),
                compute_effective_scopes(row, above.get(row.id, ()), now=now),
                keys[row.id],
                _choose_trust_level(row, owners, now),
                open_sessions.get(row.id, 0),
                last_uses.get(row.id),
            )
            for row in rows
        ]

    def _read_columns(
        self,
        tx: Transaction,
        sent: Mapping[str, object],
        caller: Caller,
        now: datetime,
        row: AgentRecord | None = None,
    ) -> dict[str, object]:
        """Validate the fields that were sent, and return the columns that they set; `row` is an agent that exists."""
        columns = {name: sent[name] for name in ("description", "discoverable") if name in sent}
        if "display_name" in sent:
            columns["display_name"] = validate_display_name(
                "display_name", str(sent["display_name"]), max_length=rules.MAX_DISPLAY_NAME_LENGTH
            )
        if "expires_at" in sent:
            columns["expires_at"] = expires_at = cast("datetime | None", sent["expires_at"])
            rules.require_future(expires_at, now=now)
        if isinstance(metadata := sent.get("metadata"), Mapping):
            columns["extra"] = rules.encode_object("metadata", metadata, rules.METADATA_LIMIT_BYTES)
        if "card" in sent:
            columns["card"] = _encode_card(sent["card"])
        if isinstance(scopes := sent.get("scopes"), list):
            granted = parse_scopes(scopes)
            require_grantable(granted, caller=caller)
            self._require_within_parent(tx, granted, row, now)
            columns["scopes"] = " ".join(scopes)
        if isinstance(owner_id := sent.get("owner_user_id"), UUID):
            _require_active_person(tx, owner_id, caller.tenant_id)
            columns |= {"owner_user_id": owner_id, "owner_left_at": None}
        elif row is not None and "owner_user_id" in sent:
            columns["owner_user_id"] = None
        return columns

    def _require_within_parent(
        self, tx: Transaction, granted: ScopeSet, row: AgentRecord | None, now: datetime
    ) -> None:
        if row is None or row.parent_agent_id is None:
            return
        parent, *above = store.list_ancestors(tx.exec, [row.id])[row.id]
        held = compute_effective_scopes(parent, above, now=now)
        beyond = sorted(scope for scope in granted.allows if not held.can_grant(scope))
        if beyond:
            message = f"The agent's parent has no {beyond[0]}, so the agent cannot have it. Widen the parent first."
            raise Conflict(message, details={"reason": "scope_violation", "scope": beyond[0]})


def _build_row(prepared: PreparedAgent, caller: Caller, now: datetime) -> AgentRecord:
    person = UUID(caller.actor_id) if caller.actor_type == "USER" else None
    return AgentRecord(
        id=new_id(now),
        tenant_id=caller.tenant_id,
        agent_type=prepared.body.agent_type.value,
        display_name="",
        description="",
        status=AgentStatus.ACTIVE.value,
        scopes="",
        extra=json.dumps({}),
        card=None,
        discoverable=False,
        key_id=prepared.key.key.kid,
        custody="external" if prepared.key.key.private is None else "managed",
        parent_agent_id=None,
        delegation_depth=0,
        delegated_scopes=None,
        delegated_until=None,
        created_by_user_id=person,
        owner_user_id=person or caller.on_behalf_of,
        expires_at=None,
        status_changed_at=None,
        changed_index=None,
        created_at=now,
        updated_at=now,
    )


def _choose_trust_level(row: AgentRecord, active_people: Container[object], now: datetime) -> TrustLevel:
    owner_is_active = row.owner_user_id in active_people
    return rules.choose_trust_level(
        row.trust_score, owner_is_active=owner_is_active, passed_check_at=row.passed_check_at, now=now
    )


def _encode_card(card: object) -> str | None:
    if not isinstance(card, AgentCardIn):
        return None
    return rules.encode_object("card", card.model_dump(exclude_none=True), rules.CARD_LIMIT_BYTES)


def _require_active_person(tx: Transaction, user_id: UUID, tenant_id: UUID) -> None:
    person = org_store.get_owned(tx.exec, UserRecord, user_id, tenant_id=tenant_id)
    if not is_active(person.status):
        message = f"The person {user_id} is {person.status}; only an ACTIVE one can answer for an agent."
        raise Conflict(message, details={"reason": "owner_not_active"})
