"""Service for delegations: delegate, list, verify, revoke, prove and export (CONTRACT 11.10)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from attestlab.agents import rules as agent_rules
from attestlab.agents import store as agent_store
from attestlab.agents.delegation import ending, long_ends, rules, store
from attestlab.agents.delegation.biscuits import SIGNING_PURPOSE, BiscuitExport, export_biscuit
from attestlab.agents.delegation.events import DelegationCreated
from attestlab.agents.delegation.hop_signing import sign_hop
from attestlab.agents.delegation.hops import ALGORITHM, Hop, compute_digest, read_hop
from attestlab.agents.delegation.records_knowledge import find_knowledge
from attestlab.agents.delegation.results import ChainProof, DelegationDetails, RevokedDelegations
from attestlab.agents.delegation.rules import ChainVerdict, Direction
from attestlab.agents.delegation.shapes import DelegationIn
from attestlab.agents.delegation.tables import DelegationRecord
from attestlab.agents.delegation.verification import ChainReport, judge_chain
from attestlab.agents.effective_scopes import compute_effective_scopes, require_grantable
from attestlab.agents.evidence import note_evidence
from attestlab.agents.key_proofs import prove_keys
from attestlab.agents.keys import AgentKeys
from attestlab.agents.lifecycle import AgentEnd
from attestlab.agents.rules import AgentStatus, TrustCause
from attestlab.agents.scopes import ScopeSet, parse_scopes
from attestlab.agents.service import Agents, PreparedAgent
from attestlab.agents.sessions.ending import SessionsOfAgents
from attestlab.agents.tables import AgentKeyRecord, AgentRecord
from attestlab.core.clock import Clock
from attestlab.core.crypto import signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.execution.long_verbs import long_write
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers.new_keys import UNLOGGED
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller


class _Parent(NamedTuple):
    """An agent that delegates, with its key, what it may do, and the delegation that it received."""

    agent: AgentRecord
    key: AgentKeyRecord
    scopes: ScopeSet
    received: DelegationRecord | None
    ancestor_ids: Sequence[UUID]


class Delegations:
    """The delegations of all tenants. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(
        self, *, storage: Storage, keyring: Keyring, clock: Clock, log: Log, keys: AgentKeys, agents: Agents
    ) -> None:
        self.storage = storage
        self.keyring = keyring
        self.clock = clock
        self.log = log
        self.keys = keys
        self.agents = agents
        self.sessions = SessionsOfAgents()

    def prepare(self, body: DelegationIn) -> PreparedAgent | None:
        """Validate a request, and make the first key of a child that it registers; needs no transaction.

        Raises:
            ValidationFailed: it names no child or two, or a scope has another form.
        """
        if (body.child is None) == (body.child_agent_id is None):
            message = "Send either child_agent_id, an agent that exists, or child, one to register."
            raise ValidationFailed.of("/child_agent_id", "one_child", message)
        parse_scopes(body.scopes)
        if body.child is None:
            return None
        scoped = body.child if body.child.scopes else body.child.model_copy(update={"scopes": body.scopes})
        scoped.model_fields_set.add("scopes")
        return self.agents.prepare(scoped)

    def _is_long_replacement(
        self, execute: Execute, parent_id: UUID, body: DelegationIn, *, caller: Caller, **_arguments: object
    ) -> bool:
        if body.child_agent_id is None:
            return False
        child_id = _parse_child(body.child_agent_id, caller)
        return long_ends.would_replacement_end_many(execute, child_id, caller=caller, now=self.clock.now())

    @long_write(_is_long_replacement)
    def delegate(
        self,
        parent_id: UUID,
        body: DelegationIn,
        *,
        caller: Caller,
        prepared: PreparedAgent | None = None,
        tx: Transaction | None = None,
    ) -> DelegationDetails:
        """Delegate scopes of an agent to a child: the parent's hop, its log entry, row, audit lines and event.

        `prepared` is the child to register, from `prepare`.

        Raises:
            NotFound: the tenant has no such active agents.
            PermissionDenied: the parent may not do what it would grant, or the caller may not give it.
            Conflict: the child has a parent, delegates itself, is above the parent, or would be deeper than 8.
            ValidationFailed: the expiry is out of bounds; or the key is the parent's own, and the signature is
                missing or not of this hop. `details` has what to sign.
            QuotaExceeded: the plan allows no further agent.
        """
        agent_rules.require_own(caller, parent_id, verb="delegate for")
        requested = parse_scopes(body.scopes)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            parent = self._find_parent(tx, parent_id, caller, now)
            granted = rules.grant_scopes(requested, parent.scopes)
            require_grantable(granted, caller=caller)
            child_id = None if body.child_agent_id is None else _parse_child(body.child_agent_id, caller)
            rules.require_place(parent_id, child_id or new_id(now), parent.ancestor_ids)
            child = self._take_child(tx, child_id, prepared, parent, caller, now)
            row = self._sign(tx, parent, child, granted, body, now, is_birth=child_id is None)
            self._record(tx, row, child, caller, now)
            return self._describe(tx.exec, [row])[0]

    def get(self, delegation_id: UUID, *, caller: Caller) -> DelegationDetails:
        """Get a delegation of the caller's tenant.

        Raises:
            NotFound: the caller's tenant has no such delegation.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, delegation_id, tenant_id=caller.tenant_id)
            return self._describe(connection.execute, [row])[0]

    def page(
        self,
        agent_id: UUID,
        direction: Direction | None = None,
        *,
        caller: Caller,
        before: UUID | None = None,
        limit: int = 50,
    ) -> list[DelegationDetails]:
        """List the delegations that an agent gave, received or both, newest first, starting after `before`.

        Raises:
            NotFound: the caller's tenant has no such agent.
        """
        with self.storage.read() as connection:
            agent_store.get(connection.execute, agent_id, tenant_id=caller.tenant_id)
            rows = store.page(connection.execute, agent_id, direction, before=before, limit=limit)
            return self._describe(connection.execute, rows)

    def _is_long_revocation(
        self, execute: Execute, delegation_id: UUID, *, caller: Caller, **_arguments: object
    ) -> bool:
        return long_ends.would_revocation_end_many(
            execute, delegation_id, caller=caller, sessions=self.sessions, now=self.clock.now()
        )

    @long_write(_is_long_revocation)
    def revoke(
        self,
        delegation_id: UUID,
        *,
        reason: str,
        caller: Caller,
        dry_run: bool = False,
        tx: Transaction | None = None,
    ) -> RevokedDelegations:
        """Revoke a delegation and all below it, and end the sessions of their children; the agents stay.

        With `dry_run` nothing changes, and the result says what would.

        Raises:
            NotFound: the caller's tenant has no such delegation.
            PermissionDenied: the caller is an agent other than the parent.
            Conflict: the delegation is revoked already.
        """
        if dry_run:
            return self._count_revocation(delegation_id, caller, tx=tx)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            self._find_revocable(tx.exec, delegation_id, caller, now)
            rows = store.list_below(tx.exec, delegation_id)
            end = AgentEnd("revoked", caller, now)
            ended = ending.end_delegations(tx, rows, end, log=self.log, reason=reason)
            children = [each.child_agent_id for each in rows]
            sessions = self.sessions.end(tx, children, AgentEnd("delegation", caller, now))
            return RevokedDelegations(self._describe(tx.exec, ended[:1])[0], len(rows), sessions, False)

    def _count_revocation(self, delegation_id: UUID, caller: Caller, *, tx: Transaction | None) -> RevokedDelegations:
        """Count what a revocation would end; no writer waits for it."""
        with self.storage.read(tx) as connection:
            execute, now = connection.execute, self.clock.now()
            row = self._find_revocable(execute, delegation_id, caller, now)
            children = [each.child_agent_id for each in store.list_below(execute, delegation_id)]
            sessions = self.sessions.count_open(execute, children, now=now)
            return RevokedDelegations(self._describe(execute, [row])[0], len(children), sessions, True)

    def _find_revocable(self, execute: Execute, delegation_id: UUID, caller: Caller, now: datetime) -> DelegationRecord:
        row = store.get(execute, delegation_id, tenant_id=caller.tenant_id)
        agent_rules.require_own(caller, row.parent_agent_id, verb="revoke delegations of")
        rules.require_unrevoked(rules.status_at(row.expires_at, row.revoked_at, now))
        return row

    def list_revocations(self, *, after: int, limit: int) -> list[DelegationRecord]:
        """List the revoked delegations of all tenants with a log index above `after`, in the order of the log."""
        with self.storage.read() as connection:
            return store.page_revoked(connection.execute, after=after, limit=limit)

    def verify(self, chain: Sequence[str], *, required_scope: str | None = None) -> ChainReport:
        """Verify a chain of any tenant against the records; anyone may.

        Raises:
            ValidationFailed: the chain is empty or too long, or `required_scope` is no scope.
        """
        now = self.clock.now()
        with self.storage.read() as connection:
            return judge_chain(
                chain,
                lambda hops: find_knowledge(connection.execute, hops, now=now),
                now=now,
                required_scope=required_scope,
            )

    def prove(self, delegation_id: UUID, *, caller: Caller) -> ChainProof:
        """Collect what a stranger needs to verify a chain: its hops, the agents' keys in the log, and a signed head.

        Raises:
            NotFound: the caller's tenant has no such delegation.
        """
        with self.storage.read() as connection:
            row = store.get(connection.execute, delegation_id, tenant_id=caller.tenant_id)
            links = store.list_chain(connection.execute, row)
            rows = store.list_keys(connection.execute, [each.parent_agent_id for each in links])
            head = self.log.head_covering(connection, max(key.log_index for key in rows))
            keys = prove_keys(connection, self.log, rows, head.size)
            return ChainProof([each.hop for each in links], keys, head)

    def export_biscuit(self, delegation_id: UUID, *, caller: Caller) -> BiscuitExport:
        """Export a delegation as a Biscuit, with what its chain allows now.

        Raises:
            NotFound: the caller's tenant has no such delegation.
            Conflict: its chain is not valid; `details.verdict` says why.
            MissingExtra: biscuit-python is not installed.
        """
        found = self.get(delegation_id, caller=caller)
        report = self.verify(found.chain)
        if report.verdict is not ChainVerdict.VALID or report.expires_at is None:
            message = f"The chain is {report.verdict.value}, so it has no Biscuit. {' '.join(report.reasons)}"
            raise Conflict(message, details={"verdict": report.verdict.value})
        hops = [read_hop(token).hop for token in found.chain]
        seed = self.keyring.keyed_sha256(SIGNING_PURPOSE)
        return export_biscuit(hops, report.scopes, report.expires_at, seed=seed)

    def _find_parent(self, tx: Transaction, parent_id: UUID, caller: Caller, now: datetime) -> _Parent:
        agent = _get_active(tx.exec, parent_id, caller, now)
        received = store.find_received(tx.exec, parent_id)
        ancestors = agent_store.list_ancestors(tx.exec, [parent_id]).get(parent_id, [])
        scopes = compute_effective_scopes(agent, ancestors, now=now)
        key = agent_store.get_key(tx.exec, parent_id, agent.key_id)
        return _Parent(agent, key, scopes, received, [each.id for each in ancestors])

    def _take_child(
        self,
        tx: Transaction,
        child_id: UUID | None,
        prepared: PreparedAgent | None,
        parent: _Parent,
        caller: Caller,
        now: datetime,
    ) -> AgentRecord:
        """Register the child, or find one that is free; an expired delegation to it gives way."""
        if child_id is None:
            if parent.key.sealed is None:
                message = "The parent signs with its own key, so the child must exist. Register it, then delegate."
                raise ValidationFailed.of("/child", "external_parent", message)
            if prepared is None:
                raise TypeError("`prepared` is missing: pass the result of `prepare`.")
            return self.agents.add(prepared, caller=caller, tx=tx).row
        child = _get_active(tx.exec, child_id, caller, now)
        received = store.find_received(tx.exec, child_id)
        is_live = received is not None and received.expires_at > now
        rules.require_unbound(child_id, has_parent=is_live, has_children=store.has_given(tx.exec, child_id, now=now))
        if received is not None:
            rows = store.list_below(tx.exec, received.id)
            ending.end_delegations(tx, rows, AgentEnd("replaced", caller, now), log=self.log)
            child = _get_active(tx.exec, child_id, caller, now)
        return child

    def _sign(
        self,
        tx: Transaction,
        parent: _Parent,
        child: AgentRecord,
        granted: ScopeSet,
        body: DelegationIn,
        now: datetime,
        *,
        is_birth: bool,
    ) -> DelegationRecord:
        received = parent.received
        ends = (None if received is None else received.expires_at, parent.agent.expires_at, child.expires_at)
        child_key = agent_store.get_key(tx.exec, child.id, child.key_id)
        unsigned = Hop(
            id=str(new_id(now)),
            tenant_id=str(child.tenant_id),
            parent=str(parent.agent.id),
            child=str(child.id),
            child_key=signing.thumbprint(ALGORITHM, signing.load_public(ALGORITHM, child_key.spki)),
            scopes=granted,
            depth=len(parent.ancestor_ids) + 1,
            issued_at=now.replace(microsecond=0),
            expires_at=rules.choose_expiry(body.expires_at, ends, now=now),
            prev=None if received is None else received.digest,
        )
        private = self.keys.unseal_signer(parent.key)
        is_end_fixed = body.expires_at is not None
        token, hop = sign_hop(unsigned, parent.key, private, body.signature, now=now, is_end_fixed=is_end_fixed)
        rules.choose_expiry(hop.expires_at, ends, now=now)
        _require_new(tx, UUID(hop.id))
        row = DelegationRecord(
            id=UUID(hop.id),
            tenant_id=child.tenant_id,
            parent_agent_id=parent.agent.id,
            child_agent_id=child.id,
            previous_id=None if received is None else received.id,
            depth=hop.depth,
            scopes=" ".join(granted.as_list()),
            is_birth=is_birth or store.was_born(tx.exec, child.id),
            kid=parent.key.kid,
            hop=token,
            digest=compute_digest(token),
            expires_at=hop.expires_at.astimezone(UTC),
            created_at=now,
            log_index=UNLOGGED,
        )
        return row._replace(log_index=ending.log_creation(tx, row, log=self.log))

    def _record(
        self, tx: Transaction, row: DelegationRecord, child: AgentRecord, caller: Caller, now: datetime
    ) -> None:
        context = AuditContext(caller.tenant_id, caller, "delegation.create", now)
        audited_write.insert(tx, store.delegations, row, context)
        limits = {
            "parent_agent_id": row.parent_agent_id,
            "delegation_depth": row.depth,
            "delegated_scopes": row.scopes,
            "delegated_until": row.expires_at,
            "updated_at": now,
        }
        place = AuditContext(caller.tenant_id, caller, "agent.delegate", now, {"delegation_id": str(row.id)})
        audited_write.change(tx, agent_store.agents, child, limits, place)
        note_evidence(tx, child.id, TrustCause.DELEGATION, row.id)
        event = DelegationCreated(row.id, row.parent_agent_id, row.child_agent_id, row.depth, now)
        outbox.publish(tx, caller.tenant_id, event, at=now)

    def _describe(self, execute: Execute, rows: Sequence[DelegationRecord]) -> list[DelegationDetails]:
        now = self.clock.now()
        agents = store.find_agents(execute, {row.child_agent_id for row in rows})
        children = {each.row.id: each for each in self.agents.describe(execute, list(agents.values()))}
        return [
            DelegationDetails(
                row,
                rules.status_at(row.expires_at, row.revoked_at, now),
                children[row.child_agent_id],
                [each.hop for each in store.list_chain(execute, row)],
            )
            for row in rows
        ]


def _get_active(execute: Execute, agent_id: UUID, caller: Caller, now: datetime) -> AgentRecord:
    row = agent_store.get(execute, agent_id, tenant_id=caller.tenant_id)
    if agent_rules.status_at(row.status, row.expires_at, now) is not AgentStatus.ACTIVE:
        raise NotFound("active agent", agent_id)
    return row


def _require_new(tx: Transaction, delegation_id: UUID) -> None:
    if store.find_many(tx.exec, [delegation_id]):
        message = f"The signed hop is the delegation {delegation_id}, which exists. Ask again what to sign."
        raise ValidationFailed.of("/signature", "used", message)


def _parse_child(text: str, caller: Caller) -> UUID:
    return agent_rules.parse_agent_id(text, tenant_id=caller.tenant_id)
