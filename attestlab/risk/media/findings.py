"""What each part of the scan found, in points (docs/media-scan.md has the same table)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attestlab.risk.media.assessment import Finding
from attestlab.risk.media.content_credentials import ContentCredentials, CredentialState
from attestlab.risk.media.generator_marks import GeneratorMark
from attestlab.risk.media.indicators import MAX_UNKNOWN_POINTS, UNKNOWN_WEIGHT, WEIGHTS
from attestlab.risk.media.source_types import Synthesis, classify_term
from attestlab.risk.media.timestamps import TimeConflict

SIGNED_GENERATION = {Synthesis.WHOLE: 90, Synthesis.PART: 60}
STATED_GENERATION = {Synthesis.WHOLE: 85, Synthesis.PART: 50}
CHANGED_CREDENTIALS = {
    CredentialState.MANIFEST_CHANGED: 65,
    CredentialState.CONTENT_CHANGED: 55,
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


def weigh_credentials(credentials: ContentCredentials) -> Iterator[Finding]:
    """Weigh a manifest; what it states counts as signed only while it is valid."""
    if points := CHANGED_CREDENTIALS.get(credentials.state):
        yield _finding("c2pa_broken", credentials.state.value, points, max(CHANGED_CREDENTIALS.values()))
    kinds = {
        Synthesis.PART if statement.is_ingredient else kind: statement.term
        for statement in credentials.statements
        if (kind := classify_term(statement.term))
    }
    is_signed = credentials.state is CredentialState.VALID
    yield from _weigh_kinds("c2pa_generation", kinds, SIGNED_GENERATION if is_signed else STATED_GENERATION)


def weigh_source_terms(terms: Iterable[str]) -> Iterator[Finding]:
    """Weigh source types that unsigned metadata states."""
    kinds = {kind: term for term in terms if (kind := classify_term(term))}
    yield from _weigh_kinds("metadata_generation", kinds, STATED_GENERATION)


def _weigh_kinds(name: str, kinds: Mapping[Synthesis, str], points: Mapping[Synthesis, int]) -> Iterator[Finding]:
    """Weigh the strongest of the stated kinds alone: they are statements about one picture."""
    if kinds:
        strongest = max(kinds, key=points.__getitem__)
        yield _finding(name, kinds[strongest], points[strongest], max(points.values()))


def weigh_marks(parameters: Iterable[GeneratorMark], names: Iterable[GeneratorMark]) -> Iterator[Finding]:
    """Weigh generation parameters and generators' names, each once."""
    for name, marks, points in (
        ("generation_parameters", parameters, GENERATION_PARAMETERS),
        ("generator_name", names, GENERATOR_NAME),
    ):
        if found := next(iter(marks), None):
            yield _finding(name, f"{found.generator} ({found.place})", points)


def weigh_time_conflicts(conflicts: Iterable[TimeConflict]) -> Iterator[Finding]:
    """Weigh the largest conflict of times."""
    if conflict := next(iter(conflicts), None):
        yield _finding("time_conflict", f"{conflict.place}: {conflict.days} days apart", TIME_CONFLICT)


def weigh_container(foreign: str | None, mismatch: str | None, trace_bits: float | None) -> Iterator[Finding]:
    """Weigh data of another format behind the media, a type that is not the declared one, and double quantisation."""
    if foreign:
        yield _finding("foreign_data", foreign, FOREIGN_DATA)
    if mismatch:
        yield _finding("content_type_mismatch", mismatch, TYPE_MISMATCH)
    if trace_bits is not None:
        yield _finding("double_quantisation", round(trace_bits, 2), DOUBLE_QUANTISATION)


def weigh_indicators(indicators: Mapping[str, float]) -> Iterator[Finding]:
    """Weigh the caller's indicators; the unknown ones together give at most `MAX_UNKNOWN_POINTS`."""
    left = MAX_UNKNOWN_POINTS
    for name, value in indicators.items():
        weight = WEIGHTS.get(name, UNKNOWN_WEIGHT)
        points = round(weight * value)
        if name not in WEIGHTS:
            points = min(points, left)
            left -= points
        if points:
            yield Finding(f"indicator.{name}", value, weight, points)


def _finding(name: str, value: float | str, points: int, weight: int | None = None) -> Finding:
    shortened = value[:MAX_VALUE_CHARACTERS] if isinstance(value, str) else value
    return Finding(name, shortened, weight or points, points)
