"""Rules of compliance: ten controls over facts, and which of them a regulation selects (CONTRACT 11.11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

from attestlab.core.counting import plural

Fact = TypeVar("Fact")

MAX_KEY_AGE: Final = timedelta(days=90)
MAX_DEPTH: Final = 4
MAX_SESSION_TTL: Final = timedelta(hours=24)
MAX_IDLE: Final = timedelta(days=30)
MIN_CONFIRMED_SHARE: Final = 0.5
MAX_AUDIT_LINES: Final = 5_000
"""How many of the newest audit lines a check links to one another; fsck links them all."""

CHECK_TTL: Final = timedelta(hours=24)
DISCLAIMER: Final = (
    "This is a self-assessment by controls of AttestLab over its own data. "
    "It is no audit, no certificate and no legal advice."
)


class EntityKind(StrEnum):
    """What a check is about."""

    AGENT = "agent"
    ISSUER = "issuer"
    TENANT = "tenant"


class Control(StrEnum):
    """A question that the service's own data answers."""

    OWNER_ACTIVE = "owner_active"
    EXPIRY_SET = "expiry_set"
    KEY_AGE = "key_age"
    NO_WILDCARD = "no_wildcard"
    DELEGATION_DEPTH = "delegation_depth"
    SESSION_TTL = "session_ttl"
    NO_OPEN_CASE = "no_open_case"
    AUDIT_CHAIN = "audit_chain"
    LAST_ACTIVITY = "last_activity"
    WITNESS_SHARE = "witness_share"


class Severity(StrEnum):
    """How much a failed control matters: a failed HIGH one fails the check."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class CheckStatus(StrEnum):
    """The result of a check; WARNING where only low and medium controls failed."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"


class Regulation(StrEnum):
    """What selects the controls; BASELINE selects all."""

    BASELINE = "baseline"
    SOC2 = "SOC2"
    ISO27001 = "ISO27001"
    GDPR = "GDPR"
    HIPAA = "HIPAA"
    EU_AI_ACT = "EU_AI_ACT"


_ACCESS_CONTROLS: Final = frozenset(
    {Control.OWNER_ACTIVE, Control.NO_WILDCARD, Control.SESSION_TTL, Control.AUDIT_CHAIN, Control.NO_OPEN_CASE}
)
SELECTED_CONTROLS: Final = {
    Regulation.BASELINE: frozenset(Control),
    Regulation.SOC2: _ACCESS_CONTROLS | {Control.EXPIRY_SET, Control.KEY_AGE, Control.LAST_ACTIVITY},
    Regulation.ISO27001: _ACCESS_CONTROLS
    | {Control.EXPIRY_SET, Control.KEY_AGE, Control.LAST_ACTIVITY, Control.DELEGATION_DEPTH},
    Regulation.GDPR: _ACCESS_CONTROLS | {Control.EXPIRY_SET},
    Regulation.HIPAA: _ACCESS_CONTROLS | {Control.KEY_AGE, Control.LAST_ACTIVITY},
    Regulation.EU_AI_ACT: frozenset(
        {
            Control.OWNER_ACTIVE,
            Control.DELEGATION_DEPTH,
            Control.NO_OPEN_CASE,
            Control.AUDIT_CHAIN,
            Control.WITNESS_SHARE,
        }
    ),
}


@dataclass(frozen=True, kw_only=True)
class ComplianceFacts:
    """What is known of an agent, issuer or tenant; of several agents the worst. None: the control cannot be asked."""

    audit_chain_is_whole: bool
    owner_is_active: bool | None = None
    has_expiry: bool | None = None
    key_age: timedelta | None = None
    wildcards: int | None = None
    delegation_depth: int | None = None
    longest_session: timedelta | None = None
    open_cases: int | None = None
    idle: timedelta | None = None
    confirmed_share: float | None = None


@dataclass(frozen=True)
class ControlFinding:
    """The answer of one control, with the fact that it rests on."""

    control: Control
    severity: Severity
    passed: bool
    title: str
    evidence: str


@dataclass(frozen=True)
class Assessment:
    """The result of a check; `score` is the share of passed controls, 0-100, `left_out` what cannot be asked."""

    status: CheckStatus
    score: int
    findings: tuple[ControlFinding, ...]
    left_out: tuple[Control, ...]
    disclaimer: str = DISCLAIMER


class _Answerer(Protocol):
    def answer(self, control: Control, facts: ComplianceFacts) -> ControlFinding | None: ...


@dataclass(frozen=True)
class _Question(Generic[Fact]):
    severity: Severity
    title: str
    fact: Callable[[ComplianceFacts], Fact | None]
    passes: Callable[[Fact], bool]
    describe: Callable[[Fact], str]

    def answer(self, control: Control, facts: ComplianceFacts) -> ControlFinding | None:
        fact = self.fact(facts)
        if fact is None:
            return None
        return ControlFinding(control, self.severity, self.passes(fact), self.title, self.describe(fact))


def assess(facts: ComplianceFacts, regulation: Regulation = Regulation.BASELINE) -> Assessment:
    """Assess facts by the controls that a regulation selects."""
    selected = [control for control in Control if control in SELECTED_CONTROLS[regulation]]
    answers = {control: _QUESTIONS[control].answer(control, facts) for control in selected}
    findings = tuple(finding for finding in answers.values() if finding is not None)
    left_out = tuple(control for control, finding in answers.items() if finding is None)
    passed = sum(finding.passed for finding in findings)
    return Assessment(_choose_status(findings), 100 * passed // len(findings), findings, left_out)


def _choose_status(findings: tuple[ControlFinding, ...]) -> CheckStatus:
    failed = {finding.severity for finding in findings if not finding.passed}
    if Severity.HIGH in failed:
        return CheckStatus.FAILED
    return CheckStatus.WARNING if failed else CheckStatus.PASSED


def _is_true(fact: bool) -> bool:
    return fact


def _is_zero(fact: int) -> bool:
    return fact == 0


_WHOLE_CHAIN: Final = f"Each of the newest audit lines, at most {MAX_AUDIT_LINES:,}, links to the one before."
_QUESTIONS: Final[dict[Control, _Answerer]] = {
    Control.OWNER_ACTIVE: _Question[bool](
        Severity.HIGH,
        "An active person is the owner",
        lambda facts: facts.owner_is_active,
        _is_true,
        lambda active: "The owner is an active member." if active else "No active member is the owner.",
    ),
    Control.EXPIRY_SET: _Question[bool](
        Severity.MEDIUM,
        "An expiry is set",
        lambda facts: facts.has_expiry,
        _is_true,
        lambda expires: "An expiry is set." if expires else "No expiry is set.",
    ),
    Control.KEY_AGE: _Question[timedelta](
        Severity.MEDIUM,
        "The key is younger than 90 days",
        lambda facts: facts.key_age,
        lambda age: age < MAX_KEY_AGE,
        lambda age: f"The oldest active key is {plural(age.days, 'day')} old.",
    ),
    Control.NO_WILDCARD: _Question[int](
        Severity.MEDIUM,
        "No scope has a wildcard",
        lambda facts: facts.wildcards,
        _is_zero,
        lambda count: f"{plural(count, 'allowed scope')} {'has' if count == 1 else 'have'} a wildcard.",
    ),
    Control.DELEGATION_DEPTH: _Question[int](
        Severity.LOW,
        "The delegation depth is at most 4",
        lambda facts: facts.delegation_depth,
        lambda depth: depth <= MAX_DEPTH,
        lambda depth: f"The delegation depth is {depth}.",
    ),
    Control.SESSION_TTL: _Question[timedelta](
        Severity.MEDIUM,
        "Sessions last at most 24 hours",
        lambda facts: facts.longest_session,
        lambda longest: longest <= MAX_SESSION_TTL,
        lambda longest: f"The longest active session lasts {longest / timedelta(hours=1):.1f} hours.",
    ),
    Control.NO_OPEN_CASE: _Question[int](
        Severity.HIGH,
        "No risk case is open",
        lambda facts: facts.open_cases,
        _is_zero,
        lambda count: f"{plural(count, 'risk case')} {'is' if count == 1 else 'are'} open.",
    ),
    Control.AUDIT_CHAIN: _Question[bool](
        Severity.HIGH,
        "The audit chain is whole",
        lambda facts: facts.audit_chain_is_whole,
        _is_true,
        lambda whole: _WHOLE_CHAIN if whole else "The audit chain is broken.",
    ),
    Control.LAST_ACTIVITY: _Question[timedelta](
        Severity.LOW,
        "Active in the last 30 days",
        lambda facts: facts.idle,
        lambda idle: idle <= MAX_IDLE,
        lambda idle: f"The last activity was {plural(idle.days, 'day')} ago.",
    ),
    Control.WITNESS_SHARE: _Question[float](
        Severity.LOW,
        "Other agents confirm at least half of the decided claims",
        lambda facts: facts.confirmed_share,
        lambda share: share >= MIN_CONFIRMED_SHARE,
        lambda share: f"Other agents confirmed {share:.0%} of the decided claims.",
    ),
}
