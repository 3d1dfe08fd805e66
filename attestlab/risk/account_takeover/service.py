"""Service for logins: assess each as it is reported, and learn from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import format_time
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Caller
from attestlab.risk.account_takeover.backfill import MAX_DELAY, LoginBackfill, PackedLogin
from attestlab.risk.account_takeover.store import LoginLearningRecord, StoredDocuments, find_learning
from attestlab.risk.enforcement.lists import add_deny_factor
from attestlab.risk.logins.circumstances import LoginTrace, trace_confirmation
from attestlab.risk.logins.detector import (
    LoginAssessment,
    LoginDetector,
    RiskLevel,
    confirm_trace,
    evaluate_trace,
    find_level,
)
from attestlab.risk.logins.login import MEMBERS, Login, count_ms, read_login, require_within_years
from attestlab.risk.logins.places import GeoLocator, Locator
from attestlab.risk.rules import Entity, EntityType, Factor, sum_factors
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.ndjson import Lines, parse_object
from attestlab.risk.signals.recording import NewSignal, record_score

SOURCE, SIGNAL_TYPE = "login", "ato"
PAST_BATCH_LINES = 250  # some 15 ms of one thread
_WARM_UP_ADDRESS = "192.0.2.1"  # reserved for documentation (RFC 5737)


@dataclass(frozen=True)
class LoginScore:
    """The score of a login, 0 to 100, and its level; `signal_id` is set from a score of `SIGNAL_THRESHOLD` on."""

    score: float
    level: RiskLevel
    factors: Sequence[Factor]
    signal_id: UUID | None = None


class AccountTakeover:
    """Assessment of logins. What is learnt from them is kept in the records, so servers share it.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, locator: Locator | None = None) -> None:
        self.storage = storage
        self.clock = clock
        self.backfill = LoginBackfill(storage=storage, clock=clock)
        self._locator = locator or GeoLocator()
        self._detector = LoginDetector(self._locator)
        self.is_warm = False  # whether the table of addresses is loaded
        self.on_warm: Callable[[], object] = lambda: None  # called once it is

    def warm_up(self) -> None:
        """Load the table of addresses, which takes half a second; call it in a thread before the first `evaluate`."""
        self._locator.locate(_WARM_UP_ADDRESS)
        self.on_warm()
        self.is_warm = True

    def evaluate(self, login: Login, *, caller: Caller, tx: Transaction | None = None) -> LoginScore:
        """Assess a login, learn from it, and record a signal if the score is high.

        Raises:
            ValidationFailed: the login is too old to be assessed.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            _require_recent(login.occurred_at, now)
            assessment = self._assess(tx, caller.tenant_id, self._detector.trace(login))
            denied = [Entity(EntityType.USER, login.subject_id)]
            denied += [Entity(EntityType.DEVICE, login.device_id)] if login.device_id else []
            denied += [Entity(EntityType.IP, login.ip)] if login.ip else []
            factors = add_deny_factor(tx.connection, caller.tenant_id, denied, list_factors(assessment), now=now)
            score = sum_factors(factors)
            level = find_level(score)
            details = encode_details(describe_login(login, level), factors)
            entity = Entity(EntityType.USER, login.subject_id)
            new = NewSignal(SOURCE, SIGNAL_TYPE, score, entity, details, login.occurred_at)
            return LoginScore(score, level, factors, record_score(tx, caller.tenant_id, new, at=now))

    def evaluate_past(self, login: Login, *, caller: Caller, tx: Transaction | None = None) -> LoginScore:
        """Assess a login of the past by what is known now, and keep it to be learnt; no signal comes of it.

        Raises:
            ValidationFailed: the login is more than five years old.
            Unavailable: the rows of an earlier past are still being deleted.
        """
        trace = self._detector.trace(login)
        with self.storage.write(tx) as tx:
            require_within_years(login.occurred_at, self.clock.now())
            documents, _ = self._open_documents(tx, caller.tenant_id)
            assessment = evaluate_trace(trace, documents.load(tuple(trace.keys.values()))).assessment
            self.backfill.keep(tx, caller.tenant_id, [PackedLogin.of(trace)])
        return LoginScore(assessment.score, assessment.level, list_factors(assessment))

    def read_past(self, text: bytes, *, now: datetime) -> Lines[PackedLogin]:
        """Return the lines of a request that loads a past, to be parsed batch by batch and kept."""

        def parse(line: bytes) -> PackedLogin:
            login = read_login(parse_object(line), now=now)
            require_within_years(login.occurred_at, now)
            return PackedLogin.of(self._detector.trace(login))

        return Lines(text, parse, known=MEMBERS, batch_lines=PAST_BATCH_LINES)

    def confirm_user(self, tx: Transaction, tenant_id: UUID, subject_id: str, at: datetime) -> None:
        """End the flags on a user's logins until then: the user passed a challenge, or a person decided so."""
        trace = trace_confirmation(subject_id, count_ms(at))
        documents, state = self._open_documents(tx, tenant_id)
        documents.save(confirm_trace(trace, documents.load(tuple(trace.keys.values()))))
        if state is not None:
            self.backfill.note(tx, state, tenant_id, trace)

    def prune(self, tx: Transaction, *, at_most: int) -> int:
        """Delete at most `at_most` rows that no score depends on any more; returns their number."""
        return self.backfill.prune(tx, at_most=at_most)

    def _assess(self, tx: Transaction, tenant_id: UUID, trace: LoginTrace) -> LoginAssessment:
        documents, state = self._open_documents(tx, tenant_id)
        evaluation = evaluate_trace(trace, documents.load(tuple(trace.keys.values())))
        documents.save(evaluation.changed)
        self.backfill.note(tx, state, tenant_id, trace)
        return evaluation.assessment

    def _open_documents(self, tx: Transaction, tenant_id: UUID) -> tuple[StoredDocuments, LoginLearningRecord | None]:
        """Open the published documents of a tenant, with what they have learnt."""
        state = find_learning(tx.exec, tenant_id)
        generation, base = (state.published, state.base) if state else (0, 0)
        return StoredDocuments(tx, tenant_id, generation=generation, base=base), state


def _require_recent(occurred_at: datetime, now: datetime) -> None:
    if occurred_at < now - MAX_DELAY:
        message = (
            f"{format_time(occurred_at)} is more than {MAX_DELAY.days} days ago, and what was known then is no longer "
            "kept. Send backfill: true, which teaches without a signal, or send it as a raw event or as a signal."
        )
        raise ValidationFailed.of("/occurred_at", "too_old", message)


def list_factors(assessment: LoginAssessment) -> list[Factor]:
    """Return the factors of an assessment as a signal has them."""
    return [
        Factor(each.name, each.value, each.weight, each.contribution, each.explanation) for each in assessment.factors
    ]


def describe_login(login: Login, level: RiskLevel) -> dict[str, object]:
    """Return what a signal's details say about its login, without the factors."""
    seen = {"ip": login.ip, "device_id": login.device_id, "country": login.country}
    known = {name: value for name, value in seen.items() if value is not None}
    return {**known, "outcome": str(login.outcome), "level": level.value}
