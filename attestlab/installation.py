"""The composition root: the one place that knows every part and wires them together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection

from attestlab import migrations
from attestlab.attestations import store as attestation_store
from attestlab.attestations.metering import service as metering
from attestlab.attestations.packs.service import Packs
from attestlab.attestations.service import Attestations
from attestlab.core import atomic_files
from attestlab.core.clock import Clock
from attestlab.core.crypto import keyring, sealing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db import occupancy
from attestlab.core.db.occupancy import Occupancy
from attestlab.core.db.storage import Storage, ping
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.records import audit, outbox
from attestlab.core.strict_json import parse_uuid
from attestlab.delivery.service import Deliveries
from attestlab.delivery.share_links import Links
from attestlab.exports.service import Exports
from attestlab.governance import store as governance_store
from attestlab.governance.service import Governance
from attestlab.identity.service import Identity
from attestlab.issuers.domain_proof import DomainProofs
from attestlab.issuers.logos import Logos
from attestlab.issuers.service import Issuers
from attestlab.issuers.txt_resolver import DnsResolver, Resolver
from attestlab.lake import store as lake_store
from attestlab.lake.service import Lake
from attestlab.log import store as log_store
from attestlab.log.head_guard import HeadGuard
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.service import Log
from attestlab.log.status.publisher import StatusListPublisher
from attestlab.mail.messages import Sender
from attestlab.mail.service import Mails
from attestlab.mail.transports import open_transport
from attestlab.orgs import usage
from attestlab.orgs.members import People
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import Orgs, TenantCreated
from attestlab.policy.attribute_registry import AttributeRegistryService
from attestlab.policy.decisions import Decisions
from attestlab.policy.profiles.service import Profiles
from attestlab.policy.service import Policies
from attestlab.portal.service import Portal
from attestlab.settings import Settings
from attestlab.simulation.service import Simulations
from attestlab.web.idempotency import store as idempotency_store

if TYPE_CHECKING:
    from attestlab.lake.relations import DatasetReader

HEAD_GUARD = "head.guard"
MAILDIR = "maildir"
LAKE = "lake"
OPERATOR = "Operator"
EXPIRIES_AT_ONCE = 205


@dataclass(frozen=True)
class InitResult:
    """What a fresh installation hands to its owner, once."""

    tenant: TenantCreated
    log_vkey: str

    def public(self) -> dict[str, str]:
        """The object that `attestlab init --json` prints."""
        return {**self.tenant.public(), "log_vkey": self.log_vkey}


class Installation:
    """An open installation: its records, its keys, and the verbs of every capability."""

    def __init__(
        self, settings: Settings, *, storage: Storage, keys: Keyring, clock: Clock, resolver: Resolver | None = None
    ) -> None:
        self.settings = settings
        self.storage = storage
        self.clock = clock
        self.keyring = keys
        self.portal_url = (settings.portal_url or "http://127.0.0.1").rstrip("/")
        self.counters = Counters.open(storage.url, settings.data, reachability=storage.reachability)
        self.guard = HeadGuard(settings.data / HEAD_GUARD)
        self.log = Log(storage=storage, keyring=keys, clock=clock, guard=self.guard)
        self.status_lists = StatusListPublisher(storage=storage, log=self.log, clock=clock)
        self.mails = Mails(keyring=keys, clock=clock)
        self.mail_carrier = open_transport(settings.smtp_url, folder=settings.data / MAILDIR)
        self.mail_sender = Sender.parse(settings.mail_from)
        self.links = Links(self.portal_url, keys)
        self.deliveries = Deliveries(storage=storage, mails=self.mails, links=self.links)
        # However an account comes to be, it has at once what waited for its address.
        on_account_opened = self.deliveries.deliver_waiting
        self.orgs = Orgs(storage=storage, clock=clock, settings=settings, on_account_opened=on_account_opened)
        self.api_keys = self.orgs.api_keys
        self.people = People(
            storage=storage,
            clock=clock,
            mails=self.mails,
            portal_url=self.portal_url,
            on_account_opened=on_account_opened,
        )
        self.identity = Identity(
            storage=storage,
            keyring=keys,
            clock=clock,
            counters=self.counters,
            settings=settings,
            issuer=lambda: settings.token_issuer or self.log_id,
        )
        self.issuers = Issuers(
            storage=storage, keyring=keys, clock=clock, log=self.log, count_signed=attestation_store.count_signed
        )
        self.signing_keys = self.issuers.signing_keys
        self.logos = Logos(storage=storage, clock=clock, issuers=self.issuers, portal_url=self.portal_url)
        self.domain_proofs = DomainProofs(
            storage=storage,
            keyring=keys,
            issuers=self.issuers,
            resolver=resolver or DnsResolver(settings.dns_server),
            has_tier_decision=governance_store.has_tier_decision,
        )
        self.governance = Governance(storage=storage, clock=clock, issuers=self.issuers)
        self.policy_decisions = Decisions(storage=storage, clock=clock)
        self.attestations = Attestations(
            storage=storage,
            clock=clock,
            issuers=self.issuers,
            log=self.log,
            status_lists=self.status_lists,
            deliveries=self.deliveries,
            decisions=self.policy_decisions,
            counters=self.counters,
        )
        self.policy_attributes = AttributeRegistryService(storage=storage, clock=clock)
        self.verification_profiles = Profiles(storage=storage, clock=clock)
        self.packs = Packs(storage=storage, clock=clock)
        self.portal = Portal(storage=storage, attestations=self.attestations, log=self.log)
        self.exports = Exports(
            storage=storage,
            clock=clock,
            keyring=keys,
            issuers=self.issuers,
            attestations=self.attestations,
            log_id=lambda: self.log_id,
            base_url=self.portal_url,
        )
        self.workers = WorkerProcesses()
        self.lake = Lake(storage=storage, folder=settings.data / LAKE)
        self.simulations = Simulations(storage=storage, clock=clock, keyring=keys, lake=self.lake)
        self.policies = Policies(
            storage=storage, clock=clock, simulations=self.simulations, operator=self._operator_caller
        )
        self.log.finders |= {"attestation_id": _index_by_id, "document_hash": _index_by_document}
        storage.record_hooks += [
            metering.create_sealer(clock),
            usage.write_counts,
            outbox.event_writer(clock),
            audit.write_entries,
            idempotency_store.chain_records,
        ]
        self._log_id: str | None = None
        self._shares: Occupancy | None = None  # until `close`; None where the caller holds the installation

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        clock: Clock | None = None,
        resolver: Resolver | None = None,
        alone: Occupancy | None = None,
    ) -> Installation:
        """Open an installation, bringing its records to this version's tables.

        `resolver` looks up the TXT records that prove domains; without one it is DNS, at `settings.dns_server`.
        `alone` is the caller's own hold on the installation, which is otherwise shared until `close`.

        Raises:
            NotFound: there is none; `attestlab init` makes one.
            ValidationFailed: its key-encryption key is missing, or cannot be used; or the file of witnesses cannot.
            KeyringMismatch: the key-encryption key is another one's.
            Unavailable: the keyring is being rewrapped.
            OSError: the file of witnesses cannot be read.
        """
        settings = settings or Settings()
        with _records(settings, alone) as (storage, shares):
            with storage.read() as connection:
                if log_store.head(connection) is None:
                    raise NotFound("installation in", settings.data)
            atomic_files.remove_drafts(settings.data)
            atomic_files.remove_drafts(settings.data / MAILDIR / "tmp")
            keys = Keyring.open(settings.data, os.environ)
            lab = cls(settings, storage=storage, keys=keys, clock=clock or storage.clock, resolver=resolver)
            with storage.read() as connection:
                lab.log.check_key(connection)
                lab.log.witnesses = _witnesses(settings, lab.log.vkey(connection))
        lab._shares = shares
        return lab

    @classmethod
    def init(
        cls, settings: Settings, *, clock: Clock | None = None, resolver: Resolver | None = None
    ) -> tuple[Installation, InitResult]:
        """Make a fresh installation: keyring, records, log, and the operator's own tenant.

        Killed half way, it can be run again: only a finished one has a log. `resolver` is as in `open`.

        Raises:
            Conflict: there is one already.
        """
        atomic_files.make_private_folder(settings.data)
        with _records(settings) as (storage, shares):
            with storage.read() as connection:
                _require_no_log(connection, settings)
            keys = _keyring(settings.data)
            lab = cls(settings, storage=storage, keys=keys, clock=clock or storage.clock, resolver=resolver)
            with storage.write() as tx:
                _require_no_log(tx.connection, settings)
                origin = settings.log_origin or f"attestlab.local/log-{secrets.token_hex(4)}"
                vkey = lab.log.create(tx, origin=origin, private=Ed25519PrivateKey.generate())
                tenant = lab.orgs.create_tenant(OPERATOR, plan=Plan.ENTERPRISE, operator=True)
        lab._shares = shares
        return lab, InitResult(tenant, vkey)

    @property
    def log_id(self) -> str:
        """The log's origin."""
        if self._log_id is None:
            with self.storage.read() as connection:
                self._log_id = self.log.head(connection).origin
        return self._log_id

    @property
    def trust(self) -> TrustPolicy:
        """A policy that believes this log on its own word; to pin it, write it down somewhere else."""
        with self.storage.read() as connection:
            return TrustPolicy.unwitnessed(self.log.vkey(connection))

    @property
    def decisions(self) -> DatasetReader:
        """The policy decisions of the operator's own tenant: `.df() .arrow() .rel() .sql("... from this")`."""
        return self.lake(self._operator_caller()).decisions

    def _operator_caller(self) -> Caller:
        """The operator's own tenant, for whoever runs Python here and names no caller."""
        with self.storage.read() as connection:
            operator = lake_store.get_operator_id(connection)
        return self.orgs.service_caller(operator)

    def sweep(self, tx: Transaction) -> None:
        """Do what time asks for; called every few seconds while a server runs."""
        metering.sweep(tx, now=self.clock.now())

    def expire(self, tx: Transaction, *, at_most: int = EXPIRIES_AT_ONCE) -> bool:
        """Make some expiries permanent, so few that nobody waits long for the lock; whether there may be more."""
        return self.attestations.expire_due(tx, limit=at_most) == at_most

    def list_statuses(self, tx: Transaction) -> None:
        """Append the digest of the status list to the log, once a minute while it grows."""
        self.status_lists.append_if_due(tx)

    def forget_counts(self) -> None:
        """Remove counts that say nothing any more; they are no part of the records, nor of their transactions."""
        self.counters.delete_expired(now=self.clock.now())

    def readiness(self) -> dict[str, Callable[[], None]]:
        """What the service stands on, each as a check that raises."""
        return {
            "records": self._check_records,
            "log": self._check_log,
            "head_guard": self._check_head_guard,
            "keyring": self._check_keyring,
            "time": self._check_time,
        }

    def _check_records(self) -> None:
        with self.storage.read() as connection:
            ping(connection)

    def _check_log(self) -> None:
        with self.storage.read() as connection:
            self.log.check_guard(connection)

    def _check_head_guard(self) -> None:
        self.guard.ensure_durable()
        with self.storage.read() as connection:
            if self.guard.read() is None and self.log.size(connection):
                self.log.check_guard(connection)

    def _check_keyring(self) -> None:
        with self.storage.read() as connection:
            sealing.require_same(connection, self.keyring)

    def _check_time(self) -> None:
        with self.storage.read() as connection:
            self.log.time.require_credible(connection)

    def keep_in_touch(self) -> None:
        """Keep what outages of PostgreSQL cost: the hold on the installation, and the agreement on the time."""
        self.storage.measure_clock()
        if self._shares is not None:
            self._shares.renew()

    def observe_head(self) -> None:
        """Let the head guard of this machine know the newest head, whichever machine signed it."""
        with self.storage.read() as connection:
            self.log.head(connection)

    def close(self) -> None:
        """Give every connection back; a thread that still waits for PostgreSQL gets an error."""
        self.storage.cancel_waits()
        self.lake.close()
        self.workers.close()
        self.counters.close()
        if self._shares is not None:
            self._shares.release()
        self.storage.close()


@contextmanager
def _records(settings: Settings, alone: Occupancy | None = None) -> Iterator[tuple[Storage, Occupancy | None]]:
    """The records with this version's tables, held before a key is read; given back where no lab comes of them."""
    storage, shares = Storage(settings.records_url), None
    try:
        shares = occupancy.share(storage) if alone is None else None
        migrations.upgrade(storage)
        yield storage, shares
    except BaseException:
        if shares is not None:
            shares.release()
        storage.close()
        raise


def _require_no_log(connection: Connection, settings: Settings) -> None:
    if log_store.head(connection) is not None:
        raise Conflict(f"{settings.data} is initialised already; its keys and log are kept.")


def _witnesses(settings: Settings, vkey: str) -> TrustPolicy | None:
    """Who is asked to cosign, and how many of them must, as the operator wrote it down."""
    return None if settings.witnesses is None else TrustPolicy.for_log(settings.witnesses.read_bytes(), vkey)


def _keyring(folder: Path) -> Keyring:
    """The key-encryption key of the environment, or of a file that is made where there is none.

    Only before there is a log: beside one, a new key would open nothing.
    """
    if os.environ.get(keyring.ENVIRONMENT_NAME) or (folder / keyring.FILE_NAME).exists():
        return Keyring.open(folder, os.environ)
    try:
        return Keyring.create(folder)
    except Conflict:  # another process that starts here was quicker; the database says which of us makes the log
        return Keyring.open(folder, os.environ)


def _index_by_id(connection: Connection, text: str) -> int | None:
    try:
        wanted = parse_uuid(text)
    except ValidationFailed as error:
        raise ValidationFailed.of("attestation_id", "uuid", error.message) from error
    found = attestation_store.find_log_indexes(connection, attestation_id=wanted, document_hash=None)
    return found[0] if found else None


def _index_by_document(connection: Connection, text: str) -> int | None:
    found = attestation_store.find_log_indexes(connection, attestation_id=None, document_hash=text.lower())
    return found[0] if found else None
