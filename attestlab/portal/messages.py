"""Texts of the public page for each verdict, step and reason, for readers who do not know about signatures.

A verdict has one sentence for its meaning and one for what to do. The page shows the codes
next to the texts, so that an expert can look them up in docs/verification.md.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from attestlab.attestations.rules import Reason, Verdict


class AnswerTone(StrEnum):
    """Tone of a line on the page: its icon and its colour; the words carry the same, for readers who see neither."""

    GOOD = "good"
    NOTE = "note"  # passed, with a remark
    BAD = "bad"
    QUIET = "quiet"  # not checked


class VerdictWords(NamedTuple):
    """The texts of a verdict; its headline is in the template, because it names the issuer."""

    tone: AnswerTone
    meaning: str
    advice: str


VERDICTS: Final = {
    Verdict.VALID: VerdictWords(
        AnswerTone.GOOD,
        "It is unchanged since, still in force, and recorded in the public log.",
        "If you were also given a file, compare it below before you rely on it.",
    ),
    Verdict.ALTERED: VerdictWords(
        AnswerTone.BAD,
        "The file that was shown differs from the one that the issuer attested.",
        "Do not rely on the file; ask the person who gave it to you for the original.",
    ),
    Verdict.REVOKED: VerdictWords(
        AnswerTone.BAD,
        "The issuer has revoked it, and that cannot be undone.",
        "Do not rely on it; ask the person who showed it to you, or the issuer, for one that is valid.",
    ),
    Verdict.SUPERSEDED: VerdictWords(
        AnswerTone.NOTE,
        "The issuer has replaced this attestation by another one.",
        "Look at the newer version, and rely on that one only.",
    ),
    Verdict.EXPIRED: VerdictWords(
        AnswerTone.NOTE,
        "It was valid until a day that the issuer set, and that day has passed.",
        "Ask the person who showed it to you for one that is still valid.",
    ),
    Verdict.INVALID: VerdictWords(
        AnswerTone.BAD,
        "A check failed: it cannot be shown that the issuer named below made this statement and keeps to it.",
        "Do not rely on it, and tell the issuer if you were given it as genuine.",
    ),
    Verdict.NOT_FOUND: VerdictWords(
        AnswerTone.BAD,
        "No attestation has the number in this page's address.",
        "Compare the address with what you were given, character by character; if it is the same, do not rely on it.",
    ),
    Verdict.UNKNOWN_ISSUER: VerdictWords(
        AnswerTone.BAD,
        "The attestation exists, but the issuer that it names is not in the records.",
        "Do not rely on it.",
    ),
}


class StepWords(NamedTuple):
    """Texts of one of the eight steps (SPEC, `POST /v1/verify`); `silent` and `answer` serve if it reports nothing."""

    name: str
    question: str
    tone: AnswerTone
    silent: str
    answer: str = "Yes"


STEPS: Final = (
    StepWords("resolve", "Is there such an attestation?", AnswerTone.GOOD, "It is in the records under this id."),
    StepWords(
        "content",
        "Is your file the attested one?",
        AnswerTone.QUIET,
        "Choose a file above to check this step.",
        "No file yet",
    ),
    StepWords("status", "Is it still in force?", AnswerTone.GOOD, "It is in force."),
    StepWords("governance", "Is the issuer in good standing?", AnswerTone.GOOD, "It is."),
    StepWords("key", "Can its key be trusted?", AnswerTone.GOOD, "The key is known and in use."),
    StepWords("signature", "Did that key sign exactly this?", AnswerTone.GOOD, "It did."),
    StepWords("transparency", "Is it in the public log, unchanged?", AnswerTone.GOOD, "It is."),
    StepWords("policy", "Do the rules of the service allow it?", AnswerTone.GOOD, "They do."),
)
NOT_REACHED: Final = "An earlier step had settled the matter."
NOT_REACHED_ANSWER: Final = "Not reached"
NO_FILE_ATTESTED: Final = ("No file attested", "Only claims were attested, so no file can be compared.")


class ReasonWords(NamedTuple):
    """The texts of a reason: the short answer to its step's question, and a sentence."""

    tone: AnswerTone
    answer: str
    sentence: str


REASONS: Final = {
    Reason.SIGNATURE_OK: ReasonWords(AnswerTone.GOOD, "Yes", "The issuer's key signed exactly this statement."),
    Reason.SIGNATURE_INVALID: ReasonWords(AnswerTone.BAD, "No", "The signature does not fit the statement."),
    Reason.STATUS_CURRENT: ReasonWords(
        AnswerTone.GOOD, "Yes", "It is in force: not withdrawn, not replaced, not expired."
    ),
    Reason.PAYLOAD_REDACTED: ReasonWords(
        AnswerTone.NOTE, "Yes, without its content", "Its content was removed on purpose; its hash is still proven."
    ),
    Reason.ATTESTATION_REVOKED: ReasonWords(AnswerTone.BAD, "No, withdrawn", "The issuer has withdrawn it."),
    Reason.ATTESTATION_SUPERSEDED: ReasonWords(
        AnswerTone.NOTE, "No, replaced", "The issuer has replaced it by a newer one."
    ),
    Reason.ATTESTATION_EXPIRED: ReasonWords(
        AnswerTone.NOTE, "No, expired", "The time for which it was issued is over."
    ),
    Reason.ATTESTATION_NOT_FOUND: ReasonWords(AnswerTone.BAD, "No", "There is none of this number."),
    Reason.PAYLOAD_HASH_OK: ReasonWords(AnswerTone.GOOD, "Yes", "The payload is the one that was attested."),
    Reason.PAYLOAD_HASH_MISMATCH: ReasonWords(AnswerTone.BAD, "No", "The payload is not the one that was attested."),
    Reason.DOCUMENT_HASH_OK: ReasonWords(AnswerTone.GOOD, "Yes", "The document is the one that was attested."),
    Reason.DOCUMENT_HASH_MISMATCH: ReasonWords(AnswerTone.BAD, "No", "The document is not the one that was attested."),
    Reason.DOCUMENT_HASH_NOT_STORED: ReasonWords(
        AnswerTone.NOTE, "Cannot tell", "No document was attested, so none can be compared."
    ),
    Reason.GOVERNANCE_OK: ReasonWords(AnswerTone.GOOD, "Yes, active", "The issuer is active."),
    Reason.ISSUER_SUSPENDED: ReasonWords(AnswerTone.NOTE, "Suspended now", "The issuer is suspended at present."),
    Reason.ISSUER_REVOKED: ReasonWords(AnswerTone.NOTE, "Excluded", "The issuer was excluded from the service."),
    Reason.ISSUER_UNKNOWN: ReasonWords(AnswerTone.BAD, "Unknown", "The issuer is not in the records."),
    Reason.KEY_ROTATED: ReasonWords(
        AnswerTone.GOOD, "Yes, replaced since", "The key was in use then and has been replaced by another since."
    ),
    Reason.KEY_REVOKED: ReasonWords(AnswerTone.NOTE, "Revoked", "The key was revoked."),
    Reason.KEY_COMPROMISED: ReasonWords(AnswerTone.NOTE, "Compromised", "The key fell into other hands."),
    Reason.KEY_NOT_FOUND: ReasonWords(AnswerTone.BAD, "Unknown", "The key is not in the records."),
    Reason.TRANSPARENCY_PROOF_OK: ReasonWords(
        AnswerTone.GOOD, "Yes", "It is in the public log, and the log's signed head proves it."
    ),
    Reason.TRANSPARENCY_PROOF_FAILED: ReasonWords(AnswerTone.BAD, "No", "The public log does not prove it."),
    Reason.POLICY_OK: ReasonWords(AnswerTone.GOOD, "Yes", "No policy objects."),
    Reason.POLICY_DENIED: ReasonWords(AnswerTone.BAD, "No", "A policy objects."),
}
# Added to a reason that did not decide the verdict: the log proves that the attestation is older.
FLAGGED: Final = {
    Reason.ISSUER_REVOKED: "It was logged before that, so it stays valid.",
    Reason.KEY_REVOKED: "It was logged before that, so it stays valid.",
    Reason.KEY_COMPROMISED: "It was logged before that, so it stays valid.",
    Reason.ISSUER_SUSPENDED: "What it signed before stays valid.",
}
# Added to a reason that decided the verdict: nothing proves that the attestation is older.
ENDING: Final = {
    Reason.ISSUER_REVOKED: "Nothing shows that it was logged before that.",
    Reason.KEY_REVOKED: "Nothing shows that it was logged before that.",
    Reason.KEY_COMPROMISED: "Nothing shows that it was logged before that.",
}

TIERS: Final = {
    "SELF_SIGNED": "its identity has not been verified",
    "BASIC": "e-mail address and domain verified",
    "VERIFIED": "identity of the person or business verified",
    "ENTERPRISE": "legal entity validated, compliance checked",
}
