"""Service for policies: create, update, shadow, activate, archive, analyze, replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.core.events import Event
from attestlab.core.ids import new_id
from attestlab.core.limits.concurrency import ConcurrencyLimit
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs import quotas
from attestlab.orgs.role_rules import parse_roles
from attestlab.orgs.rules import Caller
from attestlab.policy import rules, store
from attestlab.policy.analysis.analyzer import AnalysisFinding, PolicyComparison, analyze, compare, find_dead_rules
from attestlab.policy.attribute_registry import build_registry, load_own_attributes, load_registry, parse_document
from attestlab.policy.checked_input import CheckedDocument
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.events import PolicyActivated, PolicyArchived, PolicyCreated, PolicyShadowed, PolicyUpdated
from attestlab.policy.language import policy_tests
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.document import Document
from attestlab.policy.rules import PolicyStatus
from attestlab.policy.store import PolicyVersionSummary
from attestlab.policy.tables import PolicyVersionRecord, TenantPolicyRecord
from attestlab.policy.targets import require_target, require_targets

if TYPE_CHECKING:
    from attestlab.policy.sql.dialects import Dialect
    from attestlab.policy.sql.replay import Replay

MAX_CONCURRENT_PROOFS = 2  # per process; each takes seconds and holds a thread of the shared pool


class SimulationReports(Protocol):
    """The store of simulation reports, which show what a version would have decided."""

    def require_current(self, tx: Transaction, *, policy_id: UUID, digest: str, simulation_digest: str | None) -> None:
        """Reject unless `simulation_digest` names a current report on exactly the version with `digest`.

        Raises:
            Conflict: the report is missing, about something else, or stale; or the history did not reproduce as
                recorded.
        """
        ...


@dataclass(frozen=True)
class ActivationCheck:
    """The findings about one version, determined before taking the writer's lock."""

    version: int
    failing_tests: tuple[str, ...]
    dead_rules: tuple[str, ...]


@dataclass(frozen=True)
class AnalysisReport:
    """The findings of an analysis; `comparison` is None without a second policy."""

    findings: Sequence[AnalysisFinding]
    comparison: PolicyComparison | None


class Policies:
    """The policies of tenants. A change, its audit entry and its event are one transaction.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self, *, storage: Storage, clock: Clock, simulations: SimulationReports, operator: Callable[[], Caller]
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.simulations = simulations
        self._operator = operator
        self.proofs = ConcurrencyLimit(MAX_CONCURRENT_PROOFS, "proofs")

    def create(
        self, document: Document | CheckedDocument, *, caller: Caller, tx: Transaction | None = None
    ) -> TenantPolicyRecord:
        """Create a policy as a DRAFT.

        Raises:
            ValidationFailed: the policy or one of its tests is invalid under the tenant's attributes; or it would
                never be evaluated.
            NotFound: the tenant has no such issuer or verification profile.
            QuotaExceeded: the plan allows no more policies.
        """
        with self.storage.write(tx) as tx:
            quotas.require_capacity(
                "policies", quotas.allowance_of(caller).policies, lambda: store.count_open(tx.exec, caller.tenant_id)
            )
            self._check(tx, document, caller)
            now = self.clock.now()
            row = TenantPolicyRecord(
                id=new_id(now),
                tenant_id=caller.tenant_id,
                name=document.name,
                category=document.category.value,
                target_type=document.target_type.value,
                target_id=document.target_id,
                status=PolicyStatus.DRAFT.value,
                version=1,
                active_version=None,
                shadow_version=None,
                created_at=now,
                updated_at=now,
            )
            policy = audited_write.insert(tx, store.policies, row, _audit_context(caller, "policy.create", now))
            self._write(tx, policy, document, caller, now)
            event = PolicyCreated(policy_id=policy.id, version=1, digest=document.digest, created_at=now)
            outbox.publish(tx, caller.tenant_id, event, at=now)
            return policy

    def update(
        self, policy_id: UUID, document: Document | CheckedDocument, *, caller: Caller, tx: Transaction | None = None
    ) -> TenantPolicyRecord:
        """Write a new version; the active version remains active.

        Raises:
            NotFound: the tenant has no such policy.
            Conflict: it is archived.
            QuotaExceeded: the plan allows no more versions of a policy.
            ValidationFailed: as for `create`, or the version is for another action or target.
        """
        with self.storage.write(tx) as tx:
            row = store.get_policy(tx.exec, policy_id, tenant_id=caller.tenant_id)
            rules.require_open(row.status)
            quotas.require_capacity(
                "versions_per_policy", quotas.allowance_of(caller).versions_per_policy, lambda: row.version
            )
            current = (row.category, row.target_type, row.target_id)
            rules.require_same_target(
                current=current, requested=(document.category, document.target_type, document.target_id)
            )
            self._check(tx, document, caller)
            now = self.clock.now()
            changes = {"version": row.version + 1, "name": document.name}
            event = PolicyUpdated(policy_id=policy_id, version=row.version + 1, digest=document.digest, updated_at=now)
            changed = self._change(tx, row, changes, _audit_context(caller, "policy.update", now), event)
            self._write(tx, changed, document, caller, now)
            return changed

    def shadow(self, policy_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> TenantPolicyRecord:
        """Put the newest version in shadow: it is evaluated next to the active versions, without effect.

        Raises:
            NotFound: the tenant has no such policy.
            Conflict: it is archived, or its newest version is active.
        """
        with self.storage.write(tx) as tx:
            row = store.get_policy(tx.exec, policy_id, tenant_id=caller.tenant_id)
            rules.require_open(row.status)
            if row.version == row.active_version:
                raise Conflict("This version is active already; write a new version to put it in shadow.")
            now = self.clock.now()
            status = rules.status_of(active_version=row.active_version, shadow_version=row.version)
            changes = {"shadow_version": row.version, "status": status.value}
            event = PolicyShadowed(policy_id=policy_id, version=row.version, shadowed_at=now)
            return self._change(tx, row, changes, _audit_context(caller, "policy.shadow", now), event)

    def examine(self, policy_id: UUID, *, caller: Caller) -> ActivationCheck:
        """Run the tests of the newest version and find its dead rules; takes time, and holds no lock.

        Raises:
            NotFound: the tenant has no such policy.
            Unavailable: it took too long, or too many proofs are running.
        """
        with self.storage.read() as connection:
            row = store.get_policy(connection.execute, policy_id, tenant_id=caller.tenant_id)
            document = parse_document(store.get_version(connection.execute, policy_id, row.version))
            registry = load_registry(connection.execute, caller.tenant_id, document.target_type)
        policy = bind(document, registry)
        with self.proofs.acquire():
            dead = find_dead_rules(policy)
        return ActivationCheck(row.version, tuple(policy_tests.find_failing(document, policy, registry)), tuple(dead))

    def activate(
        self,
        policy_id: UUID,
        examined: ActivationCheck,
        *,
        simulation_digest: str | None,
        acknowledged: Sequence[str] = (),
        note: str | None = None,
        caller: Caller,
        tx: Transaction | None = None,
    ) -> TenantPolicyRecord:
        """Activate the newest version.

        Raises:
            NotFound: the tenant has no such policy.
            Conflict: it is archived or was changed in between, its tests fail, a dead rule is not acknowledged, or no
                current simulation of exactly this version is named.
            PermissionDenied: the caller is the author, and another user could activate it.
        """
        with self.storage.write(tx) as tx:
            row = store.get_policy(tx.exec, policy_id, tenant_id=caller.tenant_id)
            rules.require_open(row.status)
            if row.version != examined.version:
                raise Conflict("A newer version was written during the activation; review it, and activate again.")
            rules.require_passing(examined.failing_tests)
            rules.require_acknowledged(examined.dead_rules, acknowledged)
            version = store.get_version(tx.exec, policy_id, row.version)
            alone = self._is_single_person(tx, version.author, caller)
            self.simulations.require_current(
                tx, policy_id=policy_id, digest=version.digest, simulation_digest=simulation_digest
            )
            now = self.clock.now()
            facts = {"simulation_digest": simulation_digest, "acknowledged": list(acknowledged), "note": note}
            deed = AuditContext(caller.tenant_id, caller, "policy.activate", now, {**facts, "single_person": alone})
            changes = {"active_version": row.version, "shadow_version": None, "status": PolicyStatus.ACTIVE.value}
            event = PolicyActivated(
                policy_id=policy_id, version=row.version, simulation_digest=simulation_digest or "", activated_at=now
            )
            return self._change(tx, row, changes, deed, event)

    def archive(self, policy_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> TenantPolicyRecord:
        """Archive a policy permanently; its decisions remain explainable.

        Raises:
            NotFound: the tenant has no such policy.
            Conflict: it is archived.
        """
        with self.storage.write(tx) as tx:
            row = store.get_policy(tx.exec, policy_id, tenant_id=caller.tenant_id)
            rules.require_open(row.status)
            now = self.clock.now()
            changes = {"active_version": None, "shadow_version": None, "status": PolicyStatus.ARCHIVED.value}
            event = PolicyArchived(policy_id=policy_id, archived_at=now)
            return self._change(tx, row, changes, _audit_context(caller, "policy.archive", now), event)

    def get(
        self, policy_id: UUID, *, caller: Caller, tx: Transaction | None = None
    ) -> tuple[TenantPolicyRecord, PolicyVersionRecord]:
        """Return a policy and its newest version.

        Raises:
            NotFound: the tenant has no such policy.
        """
        with self.storage.read(tx) as connection:
            row = store.get_policy(connection.execute, policy_id, tenant_id=caller.tenant_id)
            return row, store.get_version(connection.execute, policy_id, row.version)

    def page(
        self, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> list[tuple[TenantPolicyRecord, PolicyVersionSummary]]:
        """Return a page of the tenant's policies with their newest versions, newest first, without documents."""
        with self.storage.read() as connection:
            rows = store.list_policies(connection, tenant_id=caller.tenant_id, before=before, limit=limit)
            newest = store.newest_versions(connection.execute, [row.id for row in rows])
        return [(row, newest[row.id]) for row in rows]

    def versions(
        self, policy_id: UUID, *, caller: Caller, before: int | None = None, limit: int = 50
    ) -> tuple[TenantPolicyRecord, list[PolicyVersionSummary]]:
        """Return a policy and a page of its versions, newest first, without documents.

        Raises:
            NotFound: the tenant has no such policy.
        """
        with self.storage.read() as connection:
            row = store.get_policy(connection.execute, policy_id, tenant_id=caller.tenant_id)
            return row, store.list_versions(connection, policy_id, before=before, limit=limit)

    def version(
        self, policy_id: UUID, number: int, *, caller: Caller
    ) -> tuple[TenantPolicyRecord, PolicyVersionRecord]:
        """Return a policy and one of its versions.

        Raises:
            NotFound: the tenant has no such policy, or the policy has no such version.
        """
        with self.storage.read() as connection:
            row = store.get_policy(connection.execute, policy_id, tenant_id=caller.tenant_id)
            return row, store.get_version(connection.execute, policy_id, number)

    def attributes_of(self, caller: Caller) -> tuple[str, bool]:
        """Return the tenant's own attributes as stored, and whether the tenant is the operator's."""
        with self.storage.read() as connection:
            execute = connection.execute
            return load_own_attributes(execute, caller.tenant_id), store.is_operator(execute, caller.tenant_id)

    def longest_text(self, caller: Caller) -> int:
        """Return the length of the longest document that is newest, active or in shadow, the platform's included."""
        with self.storage.read() as connection:
            return store.max_document_length(connection.execute, caller.tenant_id)

    def read(self, policy: Document | UUID, *, caller: Caller) -> Policy:
        """Bind a document, or the newest version of a policy, to the tenant's attributes.

        Raises:
            NotFound: the tenant has no such policy.
            ValidationFailed: the document is invalid under the tenant's attributes.
        """
        with self.storage.read() as connection:
            execute = connection.execute
            if isinstance(policy, UUID):
                row = store.get_policy(execute, policy, tenant_id=caller.tenant_id)
                policy = parse_document(store.get_version(execute, policy, row.version))
            return bind(policy, load_registry(execute, caller.tenant_id, policy.target_type))

    def analyze(
        self, policy: Document | UUID, *, against: Document | UUID | None = None, caller: Caller
    ) -> AnalysisReport:
        """Analyze a policy for every possible context, and compare it with another; takes time.

        Raises:
            NotFound, ValidationFailed: see `read`; or the tenant has no such target of a document.
            Unavailable: it took too long, or too many proofs are running.
        """
        require_targets(self.storage, [policy, against], tenant_id=caller.tenant_id)
        read = self.read(policy, caller=caller)
        other = None if against is None else self.read(against, caller=caller)
        with self.proofs.acquire():
            return AnalysisReport(analyze(read), None if other is None else compare(other, read))

    def replay(self, policy: Document | UUID, *, contexts: str | PathLike[str], caller: Caller | None = None) -> Replay:
        """Evaluate a policy for every row of a Parquet file of typed contexts, one column per attribute.

        Without a `caller` the policy is the operator's own, as `lab.decisions` are.

        Raises:
            NotFound, ValidationFailed: see `read`; or the file cannot be read, or a column does not have its
                attribute's type.
        """
        from attestlab.policy.sql.replay import replay  # DuckDB is loaded by the first replay

        return replay(self.read(policy, caller=caller or self._operator()), contexts)

    def groups_sql(self, policy: Document | UUID, *, dialect: Dialect, table: str = "contexts", caller: Caller) -> str:
        """Return a query that counts on another engine what `replay(...).groups()` counts here; see
        `policy.sql.dialects`.

        Raises:
            NotFound, ValidationFailed: see `read`; or the table's name is not a plain identifier.
        """
        from attestlab.policy.sql.dialects import groups_sql  # sqlglot is loaded by the first call

        return groups_sql(self.read(policy, caller=caller), dialect=dialect, table=table)

    def _check(self, tx: Transaction, document: Document | CheckedDocument, caller: Caller) -> None:
        rules.require_reachable(document.category, document.target_type)
        require_target(tx.exec, document.target_type, document.target_id, tenant_id=caller.tenant_id)
        registry = load_registry(tx.exec, caller.tenant_id, document.target_type)
        if isinstance(document, CheckedDocument):
            if build_registry(document.own) != registry:
                raise Conflict("The tenant's attributes changed while the policy was checked; send it again.")
            return
        bind(document, registry)
        policy_tests.require_valid(document, registry)

    def _write(
        self,
        tx: Transaction,
        row: TenantPolicyRecord,
        document: Document | CheckedDocument,
        caller: Caller,
        now: datetime,
    ) -> None:
        version = PolicyVersionRecord(
            id=new_id(now),
            policy_id=row.id,
            version=row.version,
            digest=document.digest,
            document=document.canonical.decode(),
            author=caller.actor_id,
            created_at=now,
        )
        audited_write.insert(tx, store.versions, version, _audit_context(caller, "policy_version.create", now))

    def _change(
        self, tx: Transaction, row: TenantPolicyRecord, changes: Mapping[str, object], deed: AuditContext, event: Event
    ) -> TenantPolicyRecord:
        outbox.publish(tx, deed.tenant_id, event, at=deed.at)
        tx.cache[store.POLICIES_CHANGED] = True
        return audited_write.change(tx, store.policies, row, {**changes, "updated_at": deed.at}, deed)

    def _is_single_person(self, tx: Transaction, author: str, caller: Caller) -> bool:
        roles = store.list_active_roles(tx.exec, caller.tenant_id)
        activators = sum(1 for each in roles if parse_roles(each) & set(rules.ACTIVATORS))
        return rules.is_single_person(store.find_person(tx.exec, author), caller.actor_id, activators=activators)


def _audit_context(caller: Caller, action: str, now: datetime) -> AuditContext:
    return AuditContext(caller.tenant_id, caller, action, now)
