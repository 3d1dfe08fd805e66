"""The eight steps of a verification as a person reads them: question, result, answer, and the values behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from attestlab import Reason, sha256
from attestlab.attestations.verification.steps import State, StepResult
from attestlab.core.encoding import b64url_decode
from attestlab.portal.messages import ENDING, FLAGGED, REASONS, STEPS, StepWords
from attestlab_dashboards.log.proof_reading import BundleDocument, describe_path, read_entry

NamedValue = tuple[str, str]


class StepState(StrEnum):
    """The result of a step as it is drawn; SILENT if there was nothing to check."""

    GOOD = "good"
    FAILED = "failed"
    OPEN = "open"
    SILENT = "silent"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class InspectedStep:
    """One of the eight steps: `answer` is a word or two, `sentence` the meaning, `values` what was compared."""

    name: str
    question: str
    state: StepState
    answer: str
    sentence: str
    values: tuple[NamedValue, ...] = ()


def build_step_views(
    document: BundleDocument, results: Sequence[StepResult], *, file: str, answer: str
) -> tuple[InspectedStep, ...]:
    """Build the eight steps from the results of those that ran offline; all after the first failure are skipped.

    `file` is the SHA-256 (hex) that was compared, `answer` the service's reasons of step 8; both may be empty.
    """
    found = {result.step: result for result in [StepResult("resolve"), *results]}
    if len(results) == 1:  # the bundle contradicts itself, so the verifier has evidence for no other step
        found = {results[0].step: results[0]}
    return tuple(_stop_at_failure(_view_each(document, found, file, answer)))


def _view_each(
    document: BundleDocument, found: Mapping[str, StepResult], file: str, answer: str
) -> Iterator[InspectedStep]:
    for words in STEPS:
        values = tuple(_VALUES[words.name](document))
        if words.name == "policy":
            yield _view_policies(words, answer)
        elif words.name == "content" and not file and words.name in found:
            yield InspectedStep("content", words.question, StepState.SILENT, words.answer, words.silent, values)
        elif (result := found.get(words.name)) is None:
            yield InspectedStep(
                words.name, words.question, StepState.SKIPPED, "not reached", "No evidence is left to run it."
            )
        else:
            own = [*values, ("your file", f"sha256:{file}")] if words.name == "content" else values
            yield _view_result(words, result, tuple(own), document)


def _stop_at_failure(views: Iterator[InspectedStep]) -> Iterator[InspectedStep]:
    has_failed = False
    for view in views:
        if has_failed:
            yield InspectedStep(view.name, view.question, StepState.SKIPPED, "not reached", "An earlier step failed.")
        else:
            yield view
        has_failed = has_failed or view.state is StepState.FAILED


def _view_result(
    words: StepWords, result: StepResult, values: tuple[NamedValue, ...], document: BundleDocument
) -> InspectedStep:
    reason = result.reasons[-1] if result.reasons else None
    match result.state:
        case State.FAILED:
            state, answer = StepState.FAILED, REASONS[reason].answer if reason else "No"
        case State.OPEN:
            state, answer = StepState.OPEN, "not proven"
        case State.OK | State.NOT_CHECKED:
            state, answer = StepState.GOOD, _answer_of(words, reason, document)
    return InspectedStep(words.name, words.question, state, answer, _explain(words, reason, result), values)


def _explain(words: StepWords, reason: Reason | None, result: StepResult) -> str:
    if reason is None:
        parts = [words.silent]
    else:
        parts = [REASONS[reason].sentence, (ENDING if result.verdict else FLAGGED).get(reason, "")]
    return " ".join(part for part in (*parts, result.detail) if part)


def _answer_of(words: StepWords, reason: Reason | None, document: BundleDocument) -> str:
    """Return the short answer of a step that holds: a value where one says more than "Yes"."""
    match words.name, reason:
        case "resolve", _:
            return "found"
        case "key", None:
            return str(document["key"]["kid"])
        case "transparency", _:
            return f"entry {document['inclusion_proof']['log_index']:,}"
    return REASONS[reason].answer if reason else words.answer


def _view_policies(words: StepWords, answer: str) -> InspectedStep:
    reasons = answer.split()
    values = (("the service's reasons", ", ".join(reasons)),) if reasons else ()
    if Reason.POLICY_DENIED in reasons:
        state, short, sentence = StepState.FAILED, "No", REASONS[Reason.POLICY_DENIED].sentence
    elif Reason.POLICY_OK in reasons:
        state, short, sentence = StepState.GOOD, "Yes", REASONS[Reason.POLICY_OK].sentence
    elif reasons:
        state, short, sentence = StepState.SKIPPED, "not reached", "The service stopped at an earlier step."
    else:
        state, short = StepState.SILENT, "not asked"
        sentence = "Only the service can evaluate its policies; nothing was sent to it."
    return InspectedStep("policy", words.question, state, short, sentence, values)


def _resolve(document: BundleDocument) -> Iterator[NamedValue]:
    attestation = document["attestation"]
    yield "attestation", attestation["id"]
    yield "kind", attestation["payload"]["schema"]
    yield "signed at", attestation["created_at"]
    yield "logged at", str(read_entry(document["log_entry"]).get("at"))


def _content(document: BundleDocument) -> Iterator[NamedValue]:
    attestation = document["attestation"]
    yield "attested payload", f"sha256:{b64url_decode(attestation['payload_hash']).hex()}"
    if attestation.get("document_hash"):
        yield "attested document", f"sha256:{attestation['document_hash']}"


def _status(document: BundleDocument) -> Iterator[NamedValue]:
    attestation = document["attestation"]
    yield "status", attestation["status"]
    yield "expires", attestation.get("expiry_at") or "never"
    listed = document["status_proof"].get("list")
    yield "status list", f"of the first {listed['entry']['log_index']:,} entries" if listed else "none"


def _governance(document: BundleDocument) -> Iterator[NamedValue]:
    newest = read_entry(document["status_proof"]["issuer"]["newest"])
    issuer = document["issuer"]
    yield "issuer", f"{issuer.get('name', 'no name')} ({issuer.get('domain', 'no domain')}), which no one signed"
    for label, name in (("status", "status"), ("trust tier", "trust_tier"), ("risk rating", "risk_rating")):
        yield label, str(newest.get(name))


def _key(document: BundleDocument) -> Iterator[NamedValue]:
    history = document["status_proof"]["key"]
    newest, first = read_entry(history["newest"]), read_entry(history["first"])
    yield "key", f"{document['key']['kid']}, {document['key']['algorithm']}"
    yield "status", f"{newest.get('status')} since {newest.get('at')}"
    yield "first logged", f"{first.get('at')}, entry {history['first']['log_index']:,}"


def _signature(document: BundleDocument) -> Iterator[NamedValue]:
    yield "public key", f"sha256:{sha256(b64url_decode(document['key']['public_key'])).hex()}"
    yield "signature", str(document["attestation"]["signature"]).rpartition(".")[2]


def _policy(_document: BundleDocument) -> Iterator[NamedValue]:
    yield from ()


_VALUES: Final[Mapping[str, Callable[[BundleDocument], Iterator[NamedValue]]]] = {
    "resolve": _resolve,
    "content": _content,
    "status": _status,
    "governance": _governance,
    "key": _key,
    "signature": _signature,
    "transparency": describe_path,
    "policy": _policy,
}
