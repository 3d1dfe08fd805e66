"""The composition root: the only module that knows all capabilities and connects them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection

from attestlab.agents.capability import AgentServices
from attestlab.agents.kinship import is_of_own_tree
from attestlab.agents.observability import store as observability_store
from attestlab.annotations.service import Annotations
from attestlab.attestations import lookups
from attestlab.attestations.holdings import Holdings
from attestlab.attestations.inbox.service import Inbox
from attestlab.attestations.lookups import find_issuances
from attestlab.attestations.metering import service as metering
from attestlab.attestations.packs.service import Packs
from attestlab.attestations.service import Attestations
from attestlab.billing.payments import Payments
from attestlab.billing.service import Billing
from attestlab.blog.service import Blog
from attestlab.consumer.accounts import store as account_store
from attestlab.consumer.accounts.capability import ConsumerAccounts
from attestlab.consumer.inbox import counts as inbox_counts
from attestlab.consumer.inbox import store as inbox_store
from attestlab.consumer.inbox.account_part import InboxPart
from attestlab.core import atomic_files
from attestlab.core.clock import Clock
from attestlab.core.crypto import keyring
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db import sqlite
from attestlab.core.db.occupancy import Occupancy
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.db.urls import database_url
from attestlab.core.errors import Conflict, NoInstallation
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audit, outbox
from attestlab.delivery.service import Deliveries
from attestlab.delivery.share_links import Links
from attestlab.exports.service import Exports
from attestlab.governance import store as governance_store
from attestlab.governance.service import Governance
from attestlab.identity.password_resets import PasswordResets
from attestlab.identity.service import Identity
from attestlab.issuers.domain_proof import DomainProofs
from attestlab.issuers.logos import Logos
from attestlab.issuers.service import Issuers
from attestlab.issuers.txt_resolver import DnsResolver, Resolver
from attestlab.lake import store as lake_store
from attestlab.lake.service import Lake
from attestlab.log import store as log_store
from attestlab.log.fsck_record import FSCK_RECORD, FsckRecord
from attestlab.log.head_guard import HEAD_GUARD, HeadGuard
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.service import Log
from attestlab.log.status.publisher import StatusListPublisher
from attestlab.mail.messages import Sender
from attestlab.mail.service import Mails
from attestlab.mail.transports import open_transport
from attestlab.migrations.opening import open_records
from attestlab.orgs import usage
from attestlab.orgs.credential_uses import CredentialUses
from attestlab.orgs.members import People
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import InitResult, Orgs
from attestlab.policy.attribute_registry import AttributeRegistryService
from attestlab.policy.decisions import Decisions
from attestlab.policy.large_requests import PolicyProcesses
from attestlab.policy.profiles.service import Profiles
from attestlab.policy.service import Policies
from attestlab.portal.consumer_session import PageSessions
from attestlab.portal.service import Portal
from attestlab.protections import store as protection_store
from attestlab.protections import verification_counts
from attestlab.protections.account_part import ProtectionsPart
from attestlab.protections.platform_issuer import PlatformIssuer
from attestlab.protections.service import Protections
from attestlab.receipts import log_lookup as receipt_lookup
from attestlab.receipts.service import Receipts, count_signed
from attestlab.receipts.types.service import ReceiptTypes
from attestlab.risk.service import Risk
from attestlab.search.service import Search
from attestlab.settings import Settings
from attestlab.simulation.risk.service import RiskSimulations
from attestlab.simulation.service import Simulations
from attestlab.views.service import Views
from attestlab.web.idempotency import store as idempotency_store
from attestlab.webhooks.deliveries import WebhookDeliveries
from attestlab.webhooks.service import Webhooks

if TYPE_CHECKING:
    from attestlab.lake.relations import DatasetReader

MAILDIR, LAKE = "maildir", "lake"
MAX_EXPIRIES_PER_WRITE = 205


class Installation:
    """An open installation: its records, its keys, and the services of all capabilities."""

    def __init__(
        self, settings: Settings, *, storage: Storage, keys: Keyring, clock: Clock, resolver: Resolver | None = None
    ) -> None:
        self.settings = settings
        self.storage = storage
        self.clock = clock
        self.keyring = keys
        self.portal_url = portal_url = settings.public_url
        self.counters = Counters.open(storage.url, settings.data, reachability=storage.reachability)
        self.guard = HeadGuard(settings.data / HEAD_GUARD, is_shared=not storage.is_sqlite)
        self.fsck_record = FsckRecord(settings.data / FSCK_RECORD)
        self.log = Log(storage=storage, keyring=keys, clock=clock, guard=self.guard)
        self.status_lists = StatusListPublisher(storage=storage, log=self.log, clock=clock)
        self.mails = Mails(keyring=keys, clock=clock, settings=settings)
        self.mail_carrier = open_transport(settings.smtp_url, folder=settings.data / MAILDIR)
        self.mail_sender = Sender.parse(settings.mail_from)
        self.links = Links(self.portal_url, keys)
        self.deliveries = Deliveries(storage=storage, clock=clock, mails=self.mails, links=self.links)
        self.orgs = Orgs(
            storage=storage, clock=clock, settings=settings, on_account_opened=self.deliveries.open_account
        )
        self.api_keys = self.orgs.api_keys
        self.people = People(
            storage=storage,
            clock=clock,
            mails=self.mails,
            on_account_opened=self.deliveries.open_account,
            is_further_address=account_store.is_further_address,
        )
        self.credential_uses = CredentialUses(storage=storage, clock=clock)
        self.identity = Identity(
            storage=storage,
            keyring=keys,
            clock=clock,
            counters=self.counters,
            settings=settings,
            issuer=lambda: settings.token_issuer or self.log.log_id,
            credential_uses=self.credential_uses,
        )
        self.password_resets = PasswordResets(
            storage=storage, clock=clock, counters=self.counters, mails=self.mails, sessions=self.identity.sessions
        )
        self.consumers = ConsumerAccounts(
            identity=self.identity,
            orgs=self.orgs,
            mails=self.mails,
            portal_url=self.portal_url,
            on_address_verified=self.deliveries.deliver_waiting,
        )
        inbox, protections = InboxPart(), ProtectionsPart()
        self.consumers.accounts.parts += [inbox, protections]
        self.consumers.accounts.counts |= {"unread": inbox.count_unread, "protections": protections.count}
        self.lake = Lake(storage=storage, folder=settings.data / LAKE, clock=clock)
        self.risk = Risk(
            storage=storage,
            clock=clock,
            find_issuances=find_issuances,
            find_exported=self.lake.find_signals,
            is_of_own_tree=is_of_own_tree,
        )
        self.webhooks = Webhooks(
            storage=storage, clock=clock, keyring=keys, allow_private=settings.webhook_allow_private
        )
        self.webhook_deliveries = WebhookDeliveries(self.webhooks, self.mails, dns_server=settings.dns_server)
        self.issuers = Issuers(storage=storage, keyring=keys, clock=clock, log=self.log, count_signed=count_signed)
        self.signing_keys = self.issuers.signing_keys
        self.logos = Logos(storage=storage, clock=clock, issuers=self.issuers, portal_url=self.portal_url)
        self.domain_proofs = DomainProofs(
            storage=storage,
            keyring=keys,
            issuers=self.issuers,
            resolver=resolver or DnsResolver(settings.dns_server),
            has_tier_decision=governance_store.has_tier_decision,
        )
        self.payments = Payments(storage=storage, clock=clock, keyring=keys, settings=settings, portal_url=portal_url)
        self.blog = Blog(storage=storage, clock=clock, portal_url=self.portal_url)
        self.billing = Billing(storage=storage, clock=clock, orgs=self.orgs, settings=settings)
        self.receipt_types = ReceiptTypes(storage=storage, clock=clock)
        self.governance = Governance(storage=storage, clock=clock, issuers=self.issuers)
        self.search = Search(storage=storage, clock=clock)
        self.views = Views(storage=storage, clock=clock, mails=self.mails)
        self.annotations = Annotations(storage=storage, clock=clock)
        self.policy_decisions = Decisions(storage=storage, clock=clock)
        self.attestations = Attestations(
            storage=storage,
            clock=clock,
            issuers=self.issuers,
            log=self.log,
            status_lists=self.status_lists,
            deliveries=self.deliveries,
            holdings=Holdings([inbox_store.select_held, protection_store.select_protected]),
            decisions=self.policy_decisions,
            counters=self.counters,
        )
        self.inbox = Inbox(storage=storage, clock=clock, attestations=self.attestations, deliveries=self.deliveries)
        self.platform_issuer = PlatformIssuer(storage=storage, clock=clock, issuers=self.issuers, portal_url=portal_url)
        self.protections = Protections(
            storage=storage, clock=clock, attestations=self.attestations, platform_issuer=self.platform_issuer
        )
        self.receipts = Receipts(self.attestations)
        access, measure = (settings.key_prefix, portal_url), self.lake.measure_agent_events
        self.agents = AgentServices(self.log, keys, *access, storage=storage, clock=clock, measure_events=measure)
        self.people.dependents += [self.agents.owners, self.views]
        self.people.on_role_changed.append(self.identity.sessions.change_role)
        self.policy_attributes = AttributeRegistryService(storage=storage, clock=clock)
        self.verification_profiles = Profiles(storage=storage, clock=clock)
        self.packs = Packs(storage=storage, clock=clock)
        self.page_sessions = PageSessions(identity=self.identity, portal_url=self.portal_url)
        self.portal = Portal(storage=storage, attestations=self.attestations, log=self.log)
        self.exports = Exports(
            storage=storage,
            clock=clock,
            keyring=keys,
            issuers=self.issuers,
            attestations=self.attestations,
            log_id=lambda: self.log.log_id,
            base_url=self.portal_url,
        )
        self.workers = WorkerProcesses()
        self.simulations = Simulations(storage=storage, clock=clock, keyring=keys, lake=self.lake)
        self.risk_simulations = RiskSimulations(
            storage=storage, clock=clock, lake=self.lake, concurrency=self.simulations.concurrency
        )
        self.policies = Policies(
            storage=storage, clock=clock, simulations=self.simulations, operator=self.operator_caller
        )
        self.policy_processes = PolicyProcesses(storage=storage, policies=self.policies, workers=self.workers)
        self.log.finders |= lookups.FINDERS | receipt_lookup.FINDERS
        # What completes each transaction before its commit, in this order.
        storage.sequence_hooks += [self.log.seal]
        storage.record_hooks += [
            verification_counts.write_counts,
            metering.create_sealer(clock),
            usage.write_counts,
            inbox_counts.write_counts,
            self.agents.trust_keeper.write_scores,  # reads the signals that the next hook numbers
            self.risk.write_numbered,
            observability_store.NUMBERED.write,
            self.billing.watch_counts,
            self.webhook_deliveries.dispatcher.watch,
            outbox.event_writer(clock),
            audit.write_entries,
            idempotency_store.chain_records,
        ]
        self._shared_lock: Occupancy | None = None  # held until `close`; None if the caller holds the lock

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        clock: Clock | None = None,
        resolver: Resolver | None = None,
        exclusive_lock: Occupancy | None = None,
    ) -> Installation:
        """Open an installation and migrate its records to this version's tables.

        `resolver` looks up the TXT records that prove domains; by default DNS at `settings.dns_server`.
        `exclusive_lock` is the lock of a caller that holds the installation exclusively; without it, the shared lock
        is held until `close`.

        Raises:
            NoInstallation: there is none; `attestlab init` creates one.
            ValidationFailed: the key-encryption key or the file of witnesses is missing or cannot be used.
            KeyringMismatch: the records are sealed under another key-encryption key.
            Unavailable: the keyring is being rewrapped.
            OSError: the file of witnesses cannot be read.
        """
        settings = settings or Settings()
        with open_records(settings, exclusive_lock) as (storage, shared_lock):
            with storage.read() as connection:
                if log_store.head(connection) is None:
                    raise NoInstallation(settings.data)
            atomic_files.remove_drafts(settings.data)
            atomic_files.remove_drafts(settings.data / MAILDIR / "tmp")
            keys = Keyring.open(settings.data, os.environ)
            lab = cls(settings, storage=storage, keys=keys, clock=clock or storage.clock, resolver=resolver)
            with storage.read() as connection:
                lab.log.check_key(connection)
                if settings.witnesses is not None:
                    lab.log.witnesses = TrustPolicy.for_log(settings.witnesses.read_bytes(), lab.log.vkey(connection))
        lab._shared_lock = shared_lock
        return lab

    @classmethod
    def init(
        cls, settings: Settings, *, clock: Clock | None = None, resolver: Resolver | None = None
    ) -> tuple[Installation, InitResult]:
        """Create an installation: keyring, records, log, and the operator's own tenant.

        It can be repeated after it was killed: only a complete installation has a log. `resolver` is as in `open`.

        Raises:
            Conflict: there is an installation already.
            ValidationFailed: SQLite would be on a network file system, where its locks do not hold.
        """
        sqlite.require_local_file(database_url(settings.records_url))
        atomic_files.make_private_folder(settings.data)
        with open_records(settings) as (storage, shared_lock):
            with storage.read() as connection:
                _require_no_log(connection, settings)
            keys = keyring.open_or_create(settings.data, os.environ)
            lab = cls(settings, storage=storage, keys=keys, clock=clock or storage.clock, resolver=resolver)
            with storage.write() as tx:
                _require_no_log(tx.connection, settings)
                origin = settings.log_origin or f"attestlab.local/log-{secrets.token_hex(4)}"
                vkey = lab.log.create(tx, origin=origin, private=Ed25519PrivateKey.generate())
                tenant = lab.orgs.create_tenant("Operator", plan=Plan.ENTERPRISE, operator=True, tx=tx)
        lab._shared_lock = shared_lock
        return lab, InitResult(tenant, vkey)

    @contextmanager
    def share_reads(self) -> Iterator[None]:
        """Let this thread's reads in the block share a snapshot of the records, and read each count once."""
        with self.storage.share_snapshot(), self.counters.share_reads():
            yield

    @property
    def services(self) -> dict[type, object]:
        """The services of all capabilities by class, for the routes that take them."""
        groups = map(vars, (self, self.risk, self.consumers, self.payments, self.agents))
        return {**{type(each): each for group in groups for each in group.values()}, Clock: self.clock}

    @property
    def log_id(self) -> str:
        """The log's origin."""
        return self.log.log_id

    @property
    def trust(self) -> TrustPolicy:
        """A trust policy with the log's own key and no witnesses; to pin the log, store it elsewhere."""
        with self.storage.read() as connection:
            return TrustPolicy.without_witnesses(self.log.vkey(connection))

    @property
    def decisions(self) -> DatasetReader:
        """The policy decisions of the operator's own tenant: `.df() .arrow() .rel() .sql("... from this")`."""
        return self.lake(self.operator_caller()).decisions

    def operator_caller(self) -> Caller:
        """Return a caller of the operator's own tenant, for Python code that names no caller."""
        with self.storage.read() as connection:
            operator = lake_store.get_operator_id(connection)
        return self.orgs.service_caller(operator)

    def sweep(self, tx: Transaction) -> None:
        """Publish due usage events, end what is overdue, and write last uses; a server calls it often."""
        metering.sweep(tx, now=self.clock.now())
        self.people.release_lapsed(tx)
        self.consumers.signups.drop_overdue(tx)
        self.agents.drop_overdue(tx)
        self.credential_uses.write_due(tx)

    def expire(self, tx: Transaction, *, at_most: int = MAX_EXPIRIES_PER_WRITE) -> bool:
        """Make at most `at_most` expiries permanent, to hold the lock briefly; returns whether there may be more."""
        return self.attestations.expire_due(tx, limit=at_most) == at_most

    def list_statuses(self, tx: Transaction) -> None:
        """Append the digest of the status list to the log, once a minute while it changes."""
        self.status_lists.append_if_due(tx)

    def forget_counts(self) -> None:
        """Delete expired rate counters, which are not part of the records or their transactions."""
        self.counters.delete_expired(now=self.clock.now())

    def keep_in_touch(self) -> None:
        """Restore what an outage of PostgreSQL loses: the shared lock and the measurement of the clock."""
        self.storage.measure_clock()
        if self._shared_lock is not None:
            self._shared_lock.renew()

    def observe_head(self) -> None:
        """Update this machine's head guard to the newest head, which another machine may have signed."""
        with self.storage.read() as connection:
            self.log.head(connection)

    def close(self) -> None:
        """Close every connection and release the lock; a thread that still waits for PostgreSQL gets an error."""
        self.storage.cancel_waits()
        self.lake.close()
        self.workers.close()
        self.risk_simulations.close()
        self.risk.close()
        self.counters.close()
        if self._shared_lock is not None:
            self._shared_lock.release()
        self.storage.close()


def _require_no_log(connection: Connection, settings: Settings) -> None:
    if log_store.head(connection) is not None:
        raise Conflict(f"{settings.data} is initialized already. Its keys and log were not changed.")
