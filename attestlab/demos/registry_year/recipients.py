"""The recipients of the demo's year: three consumers who open accounts, and people whose deliveries still wait.

The registry delivers what it mints to addresses. What came before an account waits for it; its owner reads, archives
or declines it, protects content, and shows some of it in a portfolio. No mail leaves: each counts as sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations.inbox.shapes import DeliverIn
from attestlab.attestations.results import VerificationOutcome
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.consumer.accounts.shapes import AccountPatch
from attestlab.consumer.inbox import store as inbox_store
from attestlab.consumer.inbox.rules import DeliveryState, ReadState
from attestlab.core.crypto import passwords
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import PermissionDenied
from attestlab.core.ids import new_id
from attestlab.demos.people import CONSUMERS, Consumer
from attestlab.demos.registry_year.registry import RegistryDesk
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.identity import store as identity_store
from attestlab.identity.sessions import caller_of
from attestlab.orgs.rules import Caller
from attestlab.orgs.service import NewConsumer
from attestlab.protections.rules import Visibility
from attestlab.protections.shapes import ProtectionIn

Act = Callable[[Transaction], None]

_FIRST_DAYS_AGO, _LAST_DAYS_AGO, _DAYS_BETWEEN = 338, 0, 2
_ISSUERS: Final = ("Harbour Training", "Northfield University", "Delta Clinics", "Maker Guild")
_OTHERS: Final = ("ines", "tomasz", "yuki", "olu", "marta", "sven", "leila", "pavel")  # who open no account
_CONSUMER_SHARE: Final = 0.35  # of what is delivered, each of them gets
_OPENED_DAYS_AGO: Final = {"ada": 291.5, "emmy": 164.5, "grace": 71.5}
_VERIFIED_DAYS_AGO: Final = (118.2, 64.2, 33.2, 12.2, 3.2)  # each time, strangers verify what a portfolio shows
_UNTIL_PROFILE, _UNTIL_READ = 0.01, 0.7  # days after an account is opened
_UNREAD_SINCE: Final = 9  # days: what came later is not read yet
_DECLINED: Final = (
    ("emmy", 96.4, "I never took this course."),
    ("ada", 33.4, "It is my sister's."),
    ("grace", 12.4, "The name is wrong."),
)


class Protected(NamedTuple):
    """Content that a consumer protects, some days before today."""

    username: str
    days_ago: float
    title: str
    description: str
    content_type: str
    category: str
    visibility: Visibility


_PROTECTED: Final = (
    Protected(
        "ada", 140.3, "Notes on the engine", "The first sheet, as I sent it.", "document", "notes", Visibility.PUBLIC
    ),
    Protected("ada", 88.3, "Harbour at dusk", "From the ferry.", "image/jpeg", "photo", Visibility.PUBLIC),
    Protected("ada", 17.3, "Draft of a letter", "", "document", "notes", Visibility.PRIVATE),
    Protected(
        "emmy", 60.3, "Lecture on rings", "For those who have the link.", "video", "lecture", Visibility.UNLISTED
    ),
    Protected("grace", 41.3, "Logbook, page 1", "", "image/png", "logbook", Visibility.PRIVATE),
)


class Recipients:
    """The recipients of the registry's attestations; every verb joins the transaction that it gets."""

    def __init__(self, registry: RegistryDesk, caller: Caller, *, password: str, seed: int) -> None:
        self._registry = registry
        self._lab = registry.lab
        self._caller = caller
        self._password_hash = passwords.hash_password(password)
        self._random = Random(f"{seed}:recipients")
        self._shown: list[UUID] = []  # the attestations of portfolios
        self._verified: list[VerificationOutcome] = []  # by the round that is under way

    def list_actions(self) -> Iterator[ScheduledAction]:
        """Yield the deliveries, and what the consumers do with them."""
        for number, days_ago in enumerate(range(_FIRST_DAYS_AGO, _LAST_DAYS_AGO, -_DAYS_BETWEEN)):
            issuer = _ISSUERS[number % len(_ISSUERS)]
            yield ScheduledAction(days_ago + 0.1, partial(self._deliver, issuer, self._draw_addresses()))
        for consumer in CONSUMERS:
            opened_days_ago = _OPENED_DAYS_AGO[consumer.username]
            yield ScheduledAction(opened_days_ago, partial(self._open_account, consumer))
            yield ScheduledAction(opened_days_ago - _UNTIL_PROFILE, partial(self._fill_profile, consumer))
            yield from self._list_readings(consumer)
        for protected in _PROTECTED:
            yield ScheduledAction(protected.days_ago, self._protect_content(protected))
        yield ScheduledAction(52.3, partial(self._show_received, "ada"))
        for username, declined_days_ago, reason in _DECLINED:
            yield ScheduledAction(declined_days_ago, partial(self._decline, username, reason))
        for verified_days_ago in _VERIFIED_DAYS_AGO:
            yield ScheduledAction(verified_days_ago, self._meter_strangers, look=self._let_strangers_verify)

    def _draw_addresses(self) -> list[str]:
        consumers = [each.address for each in CONSUMERS if self._random.random() < _CONSUMER_SHARE]
        others = self._random.sample(_OTHERS, self._random.randrange(2))
        return [*consumers, *(f"{name}@people.example" for name in others)]

    def _deliver(self, issuer: str, addresses: Sequence[str], tx: Transaction) -> None:
        """Deliver the newest attestation of an issuer."""
        attestation_id = self._registry.get_newest(issuer)
        for address in addresses:
            body = DeliverIn(attestation_id=attestation_id, recipient_email=address)
            self._lab.inbox.deliver(body, caller=self._caller, tx=tx)
        self._let_mails_arrive(tx)

    def _let_mails_arrive(self, tx: Transaction) -> None:
        """Mark what the outbox holds as sent, so that a served demo sends nothing of it."""
        while (mail := self._lab.mails.lease(tx)) is not None:
            self._lab.mails.mark_sent(tx, mail.id)

    def _open_account(self, consumer: Consumer, tx: Transaction) -> None:
        """Open an account, which gets what waited for its address."""
        now = self._lab.clock.now()
        new = NewConsumer(new_id(now), consumer.address, consumer.name, self._password_hash)
        self._lab.consumers.signups.open_account(tx, new, consumer.username, now)

    def _fill_profile(self, consumer: Consumer, tx: Transaction) -> None:
        profile = AccountPatch.model_validate({"bio": consumer.bio, "portfolio_visibility": consumer.portfolio})
        self._lab.consumers.accounts.update(profile, caller=self._find_caller(tx.connection, consumer), tx=tx)

    def _list_readings(self, consumer: Consumer) -> Iterator[ScheduledAction]:
        """Yield that a consumer looks into the inbox once a month, and archives what is older."""
        days_ago = _OPENED_DAYS_AGO[consumer.username] - _UNTIL_READ
        while days_ago > _UNREAD_SINCE:
            yield ScheduledAction(days_ago, partial(self._read_inbox, consumer))
            days_ago -= 30

    def _read_inbox(self, consumer: Consumer, tx: Transaction) -> None:
        caller = self._find_caller(tx.connection, consumer)
        for item in inbox_store.list_items(tx.exec, UUID(caller.actor_id)):
            after = {ReadState.UNREAD: ReadState.READ, ReadState.READ: ReadState.ARCHIVED}
            if item.state == DeliveryState.DELIVERED and (state := after.get(ReadState(item.read_state))):
                self._lab.inbox.set_read_state(item.id, state, caller=caller, tx=tx)

    def _decline(self, username: str, reason: str, tx: Transaction) -> None:
        """Decline the newest attestation for good."""
        caller = self._find_caller(tx.connection, _find_consumer(username))
        newest = inbox_store.list_items(tx.exec, UUID(caller.actor_id))[-1]
        self._lab.inbox.decline(newest.id, reason, caller=caller, tx=tx)

    def _protect_content(self, protected: Protected) -> Act:
        """Return what protects content by its hash; the file itself exists nowhere."""

        def protect(tx: Transaction) -> None:
            digest = hashlib.sha256(f"{protected.title} of the demo".encode()).hexdigest()
            fields = {name: getattr(protected, name) for name in ("title", "description", "content_type", "category")}
            body = ProtectionIn(content_hash=digest, visibility=protected.visibility, **fields)
            self._protect(tx, protected.username, body)

        return protect

    def _show_received(self, username: str, tx: Transaction) -> None:
        """Show the oldest received credential in the portfolio."""
        account_id = UUID(self._find_caller(tx.connection, _find_consumer(username)).actor_id)
        oldest = inbox_store.list_items(tx.exec, account_id)[0]
        body = ProtectionIn(
            attestation_id=oldest.attestation_id,
            title="My first certificate",
            category="education",
            visibility=Visibility.PUBLIC,
        )
        self._protect(tx, username, body)

    def _protect(self, tx: Transaction, username: str, body: ProtectionIn) -> None:
        caller = self._find_caller(tx.connection, _find_consumer(username))
        self._lab.platform_issuer.ensure(tx=tx)
        prepared = self._lab.protections.prepare(body, caller=caller, tx=tx)
        assert prepared is not None, "the platform's issuer exists"
        made = self._lab.protections.create(prepared, tx=tx)
        assert not isinstance(made, PermissionDenied), made
        if body.visibility is Visibility.PUBLIC:
            self._shown.append(made.attestation_id)

    def _let_strangers_verify(self) -> None:
        for attestation_id in self._shown:
            for _ in range(1 + self._random.randrange(4)):
                self._verified.append(self._lab.attestations.verify(attestation_id, VerifierInput()))

    def _meter_strangers(self, tx: Transaction) -> None:
        for verified in self._verified:
            self._lab.attestations.meter(tx, verified)
        self._verified.clear()

    def _find_caller(self, connection: Connection, consumer: Consumer) -> Caller:
        person = identity_store.find_person_by_address(connection, consumer.address)
        assert person is not None, f"{consumer.username} has an account"
        return caller_of(person, new_id(self._lab.clock.now()))


def _find_consumer(username: str) -> Consumer:
    return next(each for each in CONSUMERS if each.username == username)
