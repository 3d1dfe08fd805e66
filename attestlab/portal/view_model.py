"""View model of the public page: values for the template, computed from a row and a verification result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from attestlab.attestations.rules import Verdict
from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.attestations.store import CurrentIssuer
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.steps import StepResult, VerificationResult
from attestlab.core.encoding import b64url_decode
from attestlab.portal import messages, rules
from attestlab.portal.messages import Step, Tone

MAX_CLAIMS = 100
MAX_CLAIM_CHARS = 2000
# `strftime` would use the month names of the server's locale.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class StepView:
    """One of the eight steps and its outcome."""

    number: int
    title: str
    question: str
    tone: Tone
    lines: tuple[str, ...]
    codes: tuple[str, ...]
    was_reached: bool = True

    @property
    def outcome(self) -> str:
        """The outcome in a word, for readers who do not see icon and colour."""
        return messages.TONE_LABELS[self.tone]


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim; `is_code` if its value is JSON and not text, `is_named` if the schema catalogue has it."""

    label: str
    value: str
    is_code: bool
    is_named: bool


@dataclass(frozen=True, slots=True)
class StandingView:
    """One property of the issuer, at the time of the mint and now."""

    label: str
    then: str
    now: str

    @property
    def changed(self) -> bool:
        """Whether the property changed since the mint."""
        return self.then != self.now


def steps_of(report: VerificationResult) -> list[StepView]:
    """Build the views of the eight steps in order; steps that were not reached are marked."""
    found = {finding.step: finding for finding in report.results}
    return [_step(number, step, found.get(step.name)) for number, step in enumerate(messages.STEPS, 1)]


def _step(number: int, step: Step, finding: StepResult | None) -> StepView:
    if finding is None:
        return StepView(number, step.title, step.question, Tone.QUIET, (messages.NOT_REACHED,), (), was_reached=False)
    lines = tuple(_lines(finding)) or (step.silent,)
    codes = tuple(reason.value for reason in finding.reasons)
    return StepView(number, step.title, step.question, _tone(step, finding), lines, codes)


def _tone(step: Step, finding: StepResult) -> Tone:
    if finding.verdict is not None:
        return messages.VERDICTS[finding.verdict].tone
    tones = {messages.REASONS[reason][0] for reason in finding.reasons} or {step.tone}
    return next(tone for tone in (Tone.BAD, Tone.NOTE, Tone.GOOD, Tone.QUIET) if tone in tones)


def _lines(finding: StepResult) -> Iterator[str]:
    consequences = messages.FLAGGED if finding.verdict is None else messages.ENDING
    for reason in finding.reasons:
        yield " ".join(filter(None, (messages.REASONS[reason][1], consequences.get(reason))))
    if finding.detail:
        yield finding.detail


def remarks_of(report: VerificationResult) -> list[str]:
    """List the remarks that a reader of a VALID attestation should know; empty for other verdicts."""
    if report.verdict is not Verdict.VALID:
        return []
    noted = [reason for reason in report.reasons if messages.REASONS[reason][0] is Tone.NOTE]
    return [f"{messages.REASONS[reason][1]} {messages.FLAGGED.get(reason, '')}".strip() for reason in noted]


def claims_of(row: AttestationRecord) -> tuple[list[ClaimView], int]:
    """Build the views of the first `MAX_CLAIMS` claims; also returns the number of further claims."""
    claims: dict[str, object] = json.loads(row.claims)
    known = CATALOGUE[row.schema_id].claim_types if row.schema_id in CATALOGUE else {}
    ordered = [*(name for name in known if name in claims), *(name for name in claims if name not in known)]
    shown = [_claim(name, claims[name], is_named=name in known) for name in ordered[:MAX_CLAIMS]]
    return shown, max(0, len(ordered) - MAX_CLAIMS)


def _claim(name: str, value: object, *, is_named: bool) -> ClaimView:
    label = name.replace("_", " ").capitalize() if is_named else name
    if isinstance(value, str):
        return ClaimView(_truncate(label), _truncate(value), is_code=False, is_named=is_named)
    is_code = isinstance(value, dict | list)
    return ClaimView(_truncate(label), _truncate(json.dumps(value, ensure_ascii=False, indent=2)), is_code, is_named)


def _truncate(text: str) -> str:
    if len(text) <= MAX_CLAIM_CHARS:
        return text
    return f"{text[:MAX_CLAIM_CHARS]} ... ({len(text)} characters; the proof bundle has them all)"


def standing_of(row: AttestationRecord, issuer: CurrentIssuer) -> list[StandingView]:
    """Compare the issuer's status, tier, rating and jurisdiction at the time of the mint with the current ones."""
    return [
        StandingView("Status", _capitalize(row.snapshot_status), _capitalize(issuer.status)),
        StandingView("Trust tier", _capitalize(row.snapshot_trust_tier), _capitalize(issuer.trust_tier)),
        StandingView("Risk rating", _capitalize(row.snapshot_risk_rating), _capitalize(issuer.risk_rating)),
        StandingView("Jurisdiction", row.snapshot_jurisdiction or "not given", issuer.jurisdiction or "not given"),
    ]


def _capitalize(constant: str) -> str:
    return constant.replace("_", "-").capitalize()


def file_hashes_of(row: AttestationRecord) -> list[str]:
    """List the SHA-256 digests (hex) of the attested file; empty if no file was attested.

    Without a file the payload is the claims themselves, which no recipient has as a file.
    """
    hashes = [] if row.document_hash is None else [row.document_hash]
    if row.payload_size is not None:
        hashes.append(b64url_decode(row.payload_hash).hex())
    return list(dict.fromkeys(hashes))


def title_of(schema_id: str) -> str:
    """The title of a credential's schema."""
    return CATALOGUE[schema_id].title if schema_id in CATALOGUE else schema_id


def brand_of(issuer: CurrentIssuer | None) -> str:
    """Build CSS of the issuer's colours, each a validated `#rrggbb`; unreadable colours fall back to the defaults."""
    primary = rules.parse_color(issuer and issuer.primary_color)
    accent = rules.parse_color(issuer and issuer.accent_color)
    badge = primary or accent or "#1f3a5f"
    light = rules.first_readable([primary, accent], on=["#ffffff", "#f4f5f7"], otherwise="#1f3a5f")
    dark = rules.first_readable([primary, accent], on=["#1b2027", "#12161b"], otherwise="#a9c7ee")
    return (
        f":root{{--badge:{badge};--on-badge:{rules.text_color_on(badge)};--accent:{accent or badge};--brand:{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{--brand:{dark}}}}}"
    )


def format_utc(at: datetime) -> str:
    """Format a UTC time for people.

    >>> from datetime import UTC
    >>> format_utc(datetime(2026, 11, 1, 9, 5, tzinfo=UTC))
    '1 November 2026, 09:05 UTC'
    """
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M} UTC"
