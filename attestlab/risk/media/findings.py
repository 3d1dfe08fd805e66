"""What each part of the scan found, in points; and the result: factors that sum to a score, a verdict.

The weights are judgements, not measurements (docs/media-scan.md has the same table): no labelled set of real forgeries
stands behind them. They follow one rule. A statement that a picture was generated reaches `likely` alone, since few
people mark a real photograph so. A broken signature reaches `suspect` alone. What editors, messengers and phones do
every day reaches neither, even together with one other such trace.

The times that a container states are compared with the time at which its picture is claimed to be taken. Data of
another format behind the end of a picture makes one file two (a polyglot); phones append further pictures and films to
a JPEG (multi-picture format, motion photos), which are no such data. Indicators are the caller's claim: results of
detectors that the caller runs, as numbers from 0 to 1 or booleans. The scan cannot check one of them, and names them so
in its factors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from attestlab.core.errors import ValidationFailed
from attestlab.risk.media.containers.metadata import ContainerTime, TimeKind
from attestlab.risk.media.content_credentials import ContentCredentials, CredentialState, Synthesis, classify_term
from attestlab.risk.media.generator_marks import GeneratorMark
from attestlab.risk.rules import Factor

SCAN_VERSION = 2  # of the rules and weights; it changes whenever the same file may get another score
MAX_SCORE = 100
SUSPECT_SCORE = 40
LIKELY_SCORE = 75
HEURISTIC = (
    "A heuristic reading of marks that a file carries. It does not look at faces, voices or scenes, knows no trust "
    "list of signers, and sees nothing where marks were removed: `clean` means that no mark was found, not that the "
    "media is real."
)


class ScanVerdict(StrEnum):
    """The verdict of a scan: `suspect` from 40 points, `likely` from 75."""

    CLEAN = "clean"
    SUSPECT = "suspect"
    LIKELY = "likely"

    @classmethod
    def of(cls, score: float) -> ScanVerdict:
        if score >= LIKELY_SCORE:
            return cls.LIKELY
        return cls.SUSPECT if score >= SUSPECT_SCORE else cls.CLEAN


class Finding(NamedTuple):
    """Something that speaks against the media, worth `points` by itself and at most `weight`."""

    name: str
    value: float | str
    weight: int
    points: int
    explanation: str


@dataclass(frozen=True)
class MediaAssessment:
    """A score from 0 to 100 with its factors, which sum to it exactly.

    `details` has `scan_version`, `heuristic` (a sentence about what the score means), `media_type`, `observed`, and
    `not_examined` with the reasons. Both together are JSON of at most `risk.rules.MAX_DETAILS_BYTES`.
    """

    score: int
    verdict: ScanVerdict
    factors: tuple[Factor, ...]
    details: Mapping[str, object]


def assess(findings: Iterable[Finding], details: Mapping[str, object]) -> MediaAssessment:
    """Add findings up, strongest first; beyond 100 points a finding contributes what is left of them.

    Contributions are whole points, so that their sum is exact.
    """
    factors, score = [], 0
    for finding in sorted(findings, key=lambda finding: (-finding.points, finding.name)):
        contribution = min(finding.points, MAX_SCORE - score)
        score += contribution
        factors.append(Factor(finding.name, finding.value, finding.weight, contribution, finding.explanation))
    fixed = {"scan_version": SCAN_VERSION, "heuristic": HEURISTIC}
    return MediaAssessment(score, ScanVerdict.of(score), tuple(factors), {**fixed, **details})


TOLERANCE = timedelta(days=2)  # zones, as EXIF has none, and clocks that were never set to the minute


class TimeConflict(NamedTuple):
    """A time of the container that does not fit the claimed one; `days` are their distance."""

    place: str
    days: int


def find_time_conflicts(times: Iterable[ContainerTime], claimed_at: datetime) -> list[TimeConflict]:
    """Find the times that contradict the claim, largest distance first.

    A picture cannot have been taken at another time, nor changed or written before it was taken. Changed or written
    later is ordinary: each export does that.
    """
    conflicts = [_find_conflict(time, claimed_at) for time in times]
    return sorted(filter(None, conflicts), key=lambda conflict: -conflict.days)


def _find_conflict(time: ContainerTime, claimed_at: datetime) -> TimeConflict | None:
    at = time.at if time.at.tzinfo else time.at.replace(tzinfo=UTC)
    later = at - claimed_at
    is_conflict = later < -TOLERANCE or (time.kind is TimeKind.TAKEN and later > TOLERANCE)
    return TimeConflict(f"{time.place}, {time.kind}", abs(later).days) if is_conflict else None


_HEAD_BYTES = 1_024
_TAIL_BYTES = 66_000  # within which a ZIP archive has its end record
_ZIP_END = b"PK\x05\x06"
_STARTS = {
    b"PK\x03\x04": "ZIP",
    b"%PDF-": "PDF",
    b"\x7fELF": "ELF",
    b"MZ": "Windows program",
    b"Rar!": "RAR",
    b"7z\xbc\xaf": "7-Zip",
    b"<?php": "PHP",
    b"<!doctype html": "HTML",
    b"<html": "HTML",
    b"<script": "HTML",
}


def name_foreign_data(content: bytes, end: int | None) -> str | None:
    """Name the format of data that follows the end of a picture; None if there is none or it is unknown."""
    if end is None or end >= len(content):
        return None
    head = content[end : end + _HEAD_BYTES].lstrip(b"\0\r\n\t ")
    lowered = head[:16].lower()
    for start, name in _STARTS.items():
        if head.startswith(start) or lowered.startswith(start):
            return name
    return "ZIP" if _ZIP_END in content[max(end, len(content) - _TAIL_BYTES) :] else None


MAX_INDICATORS = 16
MAX_UNKNOWN_POINTS = 30  # of all unknown indicators together; below the verdict `suspect`
UNKNOWN_WEIGHT = 10
# What a caller's detector may look for, and how many points its full score gives.
WEIGHTS = {
    "ai_generated": 80,
    "face_swap": 80,
    "lip_sync": 70,
    "voice_clone": 70,
    "liveness_failed": 60,
    "splice": 60,
    "frequency_artifacts": 30,
    "lighting_inconsistency": 25,
    "temporal_inconsistency": 25,
    "noise_inconsistency": 20,
    "metadata_stripped": 5,
}
_NAME = re.compile(r"[a-z0-9_]{1,64}")
_FIELD = "/indicators"


def parse_indicators(indicators: Mapping[str, object] | None) -> dict[str, float]:
    """Validate the indicators of a caller and return them as numbers, sorted by name.

    Raises:
        ValidationFailed: there are too many, or one has no acceptable name or value.
    """
    given = indicators or {}
    if len(given) > MAX_INDICATORS:
        message = f"There are {len(given):,} indicators; the limit is {MAX_INDICATORS}. Send the strongest."
        raise ValidationFailed.of(_FIELD, "too_many", message)
    return {name: _parse_value(name, given[name]) for name in sorted(given, key=str)}


def _parse_value(name: object, value: object) -> float:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        message = f"{str(name)[:40]!r} is no name of an indicator: use 1 to 64 of a-z, 0-9 and _."
        raise ValidationFailed.of(_FIELD, "name", message)
    if not isinstance(value, bool | int | float) or not 0 <= value <= 1:  # not true of NaN either
        message = f"The indicator {name} is {_shorten(value)}; send a number from 0 to 1, or a boolean."
        raise ValidationFailed.of(f"{_FIELD}/{name}", "out_of_range", message)
    return float(value)


def _shorten(value: object) -> str:
    """Write a value into an error; a number of a thousand digits would take long to write."""
    return repr(value)[:40] if isinstance(value, bool | float | str) else type(value).__name__


SIGNED_GENERATION = {Synthesis.WHOLE: 90, Synthesis.PART: 60}
STATED_GENERATION = {Synthesis.WHOLE: 85, Synthesis.PART: 50}
CHANGED_CREDENTIALS = {
    CredentialState.MANIFEST_CHANGED: 65,
    CredentialState.CONTENT_CHANGED: 55,
    CredentialState.CONTENT_EXCLUDED: 55,
    CredentialState.INVALID: 10,
    CredentialState.UNREADABLE: 10,
}
GENERATION_PARAMETERS = 80
GENERATOR_NAME = 80
TIME_CONFLICT = 15
FOREIGN_DATA = 15
DOUBLE_QUANTISATION = 10
TYPE_MISMATCH = 5
MAX_VALUE_CHARACTERS = 80
EXPLANATIONS = {
    "metadata_generation": "XMP, which nothing signs, states this source type.",
    "generation_parameters": "The file has generation parameters in the form that this program writes.",
    "generator_name": "A field for the name of a program names a generator.",
    "time_conflict": "This time of the container does not fit the claimed one.",
    "foreign_data": "Data of this format follows the end of the media.",
    "double_quantisation": "The JPEG was saved before with other tables, as editors and messengers also do.",
    "content_type_mismatch": "The bytes are of another type than this declared one.",
}
EXPLANATIONS_OF_STATES = {
    CredentialState.MANIFEST_CHANGED: "The statements of the C2PA manifest changed after it was signed.",
    CredentialState.CONTENT_CHANGED: "The media changed after its C2PA manifest was signed.",
    CredentialState.CONTENT_EXCLUDED: "The C2PA manifest leaves out bytes that are not its own, unseen by its hash.",
    CredentialState.INVALID: "The C2PA manifest fails a check of the standard.",
    CredentialState.UNREADABLE: "The C2PA manifest cannot be read.",
}
SIGNED_STATEMENT = "A C2PA manifest that holds states this source type; its signer is not verified."
UNSIGNED_STATEMENT = "A C2PA manifest that does not hold states this source type."
KNOWN_INDICATOR = "The caller's detector states this; the scan cannot check it."
UNKNOWN_INDICATOR = "The caller states this under a name that the scan does not know."


def weigh_credentials(credentials: ContentCredentials) -> Iterator[Finding]:
    """Weigh a manifest; what it states counts as signed only while it is valid."""
    state = credentials.state
    if points := CHANGED_CREDENTIALS.get(state):
        weight = max(CHANGED_CREDENTIALS.values())
        yield Finding("c2pa_broken", state.value, weight, points, EXPLANATIONS_OF_STATES[state])
    kinds = {
        Synthesis.PART if statement.is_ingredient else kind: statement.term
        for statement in credentials.statements
        if (kind := classify_term(statement.term))
    }
    is_signed = credentials.state is CredentialState.VALID
    points_of_kinds = SIGNED_GENERATION if is_signed else STATED_GENERATION
    explanation = SIGNED_STATEMENT if is_signed else UNSIGNED_STATEMENT
    yield from _weigh_kinds("c2pa_generation", kinds, points_of_kinds, explanation)


def weigh_source_terms(terms: Iterable[str]) -> Iterator[Finding]:
    """Weigh source types that unsigned metadata states."""
    kinds = {kind: term for term in terms if (kind := classify_term(term))}
    name = "metadata_generation"
    yield from _weigh_kinds(name, kinds, STATED_GENERATION, EXPLANATIONS[name])


def _weigh_kinds(
    name: str, kinds: Mapping[Synthesis, str], points: Mapping[Synthesis, int], explanation: str
) -> Iterator[Finding]:
    """Weigh the strongest of the stated kinds alone: they are statements about one picture."""
    if kinds:
        strongest = max(kinds, key=points.__getitem__)
        yield Finding(name, kinds[strongest], max(points.values()), points[strongest], explanation)


def weigh_marks(parameters: Iterable[GeneratorMark], names: Iterable[GeneratorMark]) -> Iterator[Finding]:
    """Weigh generation parameters and generators' names, each once."""
    for name, marks, points in (
        ("generation_parameters", parameters, GENERATION_PARAMETERS),
        ("generator_name", names, GENERATOR_NAME),
    ):
        if found := next(iter(marks), None):
            yield _find(name, f"{found.generator} ({found.place})", points)


def weigh_time_conflicts(conflicts: Iterable[TimeConflict]) -> Iterator[Finding]:
    """Weigh the largest conflict of times."""
    if conflict := next(iter(conflicts), None):
        yield _find("time_conflict", f"{conflict.place}: {conflict.days} days apart", TIME_CONFLICT)


def weigh_container(foreign: str | None, mismatch: str | None, trace_bits: float | None) -> Iterator[Finding]:
    """Weigh data of another format behind the media, a type that is not the declared one, and double quantisation."""
    if foreign:
        yield _find("foreign_data", foreign, FOREIGN_DATA)
    if mismatch:
        yield _find("content_type_mismatch", clean_text(mismatch), TYPE_MISMATCH)
    if trace_bits is not None:
        yield _find("double_quantisation", round(trace_bits, 2), DOUBLE_QUANTISATION)


def weigh_indicators(indicators: Mapping[str, float]) -> Iterator[Finding]:
    """Weigh the caller's indicators; the unknown ones together give at most `MAX_UNKNOWN_POINTS`."""
    left = MAX_UNKNOWN_POINTS
    for name, value in indicators.items():
        is_known = name in WEIGHTS
        weight = WEIGHTS.get(name, UNKNOWN_WEIGHT)
        points = round(weight * value) if is_known else min(round(weight * value), left)
        left -= 0 if is_known else points
        if points:
            explanation = KNOWN_INDICATOR if is_known else UNKNOWN_INDICATOR
            yield Finding(f"indicator.{name}", value, weight, points, explanation)


def clean_text(text: str) -> str:
    """Shorten a stranger's text, and replace control and format characters, for people who read the factor."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text[:MAX_VALUE_CHARACTERS])


def _find(name: str, value: float | str, points: int) -> Finding:
    return Finding(name, value, points, points, EXPLANATIONS[name])
