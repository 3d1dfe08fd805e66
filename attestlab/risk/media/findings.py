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
