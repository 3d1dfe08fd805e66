"""View model of the public page: values for the template, computed from a row and a verification result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime

from attestlab.attestations.evidence_queries import CurrentIssuer
from attestlab.attestations.rules import Verdict
from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.attestations.schemas.claim_types import CLAIM_TYPES, ClaimType
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.steps import StepResult, VerificationResult
from attestlab.core.encoding import b64url_decode
from attestlab.portal import messages, rules
from attestlab.portal.layout import format_day
from attestlab.portal.messages import AnswerTone, StepWords

MAX_CLAIMS = 100
MAX_CLAIM_CHARS = 2000
MAX_UNFOLDED_CLAIMS = 12
# The backgrounds of the page in `page.css`, on which a brand's colour must be readable.
LIGHT_GROUNDS, DARK_GROUNDS = ("#ffffff", "#f7f8fa"), ("#171e27", "#0f141b")
_DAY_CODES = {CLAIM_TYPES[name].code for name in ("date", "end", "moment")}


@dataclass(frozen=True, slots=True)
class StepView:
    """One of the eight steps: its question, the answer, and what the answer rests on."""

    number: int
    name: str
    question: str
    tone: AnswerTone
    answer: str
    lines: tuple[str, ...]
    codes: tuple[str, ...]
    is_passed: bool = False


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


def steps_of(report: VerificationResult, *, has_file: bool = True) -> list[StepView]:
    """Build the views of the eight steps in order; `has_file` if a file was attested that could be compared."""
    found = {finding.step: finding for finding in report.results}
    steps = [_step(number, step, found.get(step.name)) for number, step in enumerate(messages.STEPS, 1)]
    if not has_file and steps[1].tone is AnswerTone.QUIET:
        answer, line = messages.NO_FILE_ATTESTED
        steps[1] = replace(steps[1], answer=answer, lines=(line,))
    return steps


def _step(number: int, step: StepWords, finding: StepResult | None) -> StepView:
    if finding is None:
        answer, line = messages.NOT_REACHED_ANSWER, messages.NOT_REACHED
        return StepView(number, step.name, step.question, AnswerTone.QUIET, answer, (line,), ())
    tone = _tone(step, finding)
    answers = [words.answer for reason in finding.reasons if (words := messages.REASONS[reason]).tone is tone]
    fallback = messages.REASONS[finding.reasons[0]].answer if finding.reasons else step.answer
    lines = tuple(_lines(finding)) or (step.silent,)
    codes = tuple(reason.value for reason in finding.reasons)
    answer = answers[0] if answers else fallback
    is_passed = finding.verdict is None and tone in (AnswerTone.GOOD, AnswerTone.NOTE)
    return StepView(number, step.name, step.question, tone, answer, lines, codes, is_passed)


def _tone(step: StepWords, finding: StepResult) -> AnswerTone:
    if finding.verdict is not None:
        return messages.VERDICTS[finding.verdict].tone
    tones = {messages.REASONS[reason].tone for reason in finding.reasons} or {step.tone}
    return next(tone for tone in (AnswerTone.BAD, AnswerTone.NOTE, AnswerTone.GOOD, AnswerTone.QUIET) if tone in tones)


def _lines(finding: StepResult) -> Iterator[str]:
    consequences = messages.FLAGGED if finding.verdict is None else messages.ENDING
    for reason in finding.reasons:
        yield " ".join(filter(None, (messages.REASONS[reason].sentence, consequences.get(reason))))
    if finding.detail:
        yield finding.detail


def remarks_of(report: VerificationResult) -> list[str]:
    """List the remarks that a reader of a VALID attestation should know; empty for other verdicts."""
    if report.verdict is not Verdict.VALID:
        return []
    noted = [reason for reason in report.reasons if messages.REASONS[reason].tone is AnswerTone.NOTE]
    return [f"{messages.REASONS[reason].sentence} {messages.FLAGGED.get(reason, '')}".strip() for reason in noted]


def claims_of(row: AttestationRecord) -> tuple[list[ClaimView], int]:
    """Build the views of the first `MAX_CLAIMS` claims; also returns the number of further claims."""
    claims: dict[str, object] = json.loads(row.claims)
    known = CATALOGUE[row.schema_id].claim_types if row.schema_id in CATALOGUE else {}
    ordered = [*(name for name in known if name in claims), *(name for name in claims if name not in known)]
    shown = [_claim(name, claims[name], known.get(name)) for name in ordered[:MAX_CLAIMS]]
    return shown, max(0, len(ordered) - MAX_CLAIMS)


def _claim(name: str, value: object, claim_type: ClaimType | None) -> ClaimView:
    label = _truncate(name.replace("_", " ").capitalize() if claim_type else name)
    is_named = claim_type is not None
    if isinstance(value, str):
        text = _format_if_day(value) if claim_type is not None and claim_type.code in _DAY_CODES else value
        return ClaimView(label, _truncate(text), is_code=False, is_named=is_named)
    is_code = isinstance(value, dict | list)
    return ClaimView(label, _truncate(json.dumps(value, ensure_ascii=False, indent=2)), is_code, is_named)


def _format_if_day(text: str) -> str:
    """Format a day such as 2026-06-30 like all days of the page; any other text stays as it is."""
    try:
        day = date.fromisoformat(text) if len(text) == len("2026-06-30") else None
    except ValueError:
        return text
    return text if day is None else format_day(datetime(day.year, day.month, day.day))


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
    """The title of a credential's schema, for headings."""
    return CATALOGUE[schema_id].title if schema_id in CATALOGUE else "Attestation"


def kind_of(schema_id: str) -> str:
    """The title of a credential's schema, for the middle of a sentence.

    >>> kind_of("degree"), kind_of("did-document") if "did-document" in CATALOGUE else "attestation"
    ('degree', 'attestation')
    """
    title = title_of(schema_id)
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def brand_of(issuer: CurrentIssuer | None) -> str:
    """Build CSS of the issuer's colours, each a validated `#rrggbb`; unreadable colours fall back to the defaults."""
    primary = rules.parse_color(issuer and issuer.primary_color)
    accent = rules.parse_color(issuer and issuer.accent_color)
    badge = primary or accent
    if badge is None:
        return ""
    light = rules.first_readable([primary, accent], on=LIGHT_GROUNDS, otherwise="var(--al-text)")
    dark = rules.first_readable([primary, accent], on=DARK_GROUNDS, otherwise="var(--al-text)")
    return (
        f":root{{--badge:{badge};--on-badge:{rules.text_color_on(badge)};--brand:{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{--brand:{dark}}}}}"
    )
