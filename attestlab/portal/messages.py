"""Texts of the public page for each verdict, step and reason, for readers who do not know about signatures.

A verdict has one sentence for its meaning and one for what to do. The page shows the codes
next to the texts, so that an expert can look them up in docs/verification.md.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from attestlab.attestations.rules import Reason, Verdict


class Tone(StrEnum):
    """Tone of a line on the page: its icon, its colour, and the word that a screen reader reads."""

    GOOD = "good"
    NOTE = "note"  # passed, with a remark
    BAD = "bad"
    QUIET = "quiet"  # not checked


TONE_LABELS: Final = {
    Tone.GOOD: "Passed",
    Tone.NOTE: "Please note",
    Tone.BAD: "Failed",
    Tone.QUIET: "Not checked",
}


class VerdictWords(NamedTuple):
    """The texts of a verdict."""

    tone: Tone
    headline: str
    meaning: str
    advice: str


VERDICTS: Final = {
    Verdict.VALID: VerdictWords(
        Tone.GOOD,
        "This attestation is valid",
        "The issuer named below signed it, it stands unchanged in the public log, and it has been neither withdrawn "
        "nor replaced.",
        "If you received a file with it, compare that file below before you rely on it.",
    ),
    Verdict.ALTERED: VerdictWords(
        Tone.BAD,
        "This is not what was attested",
        "The file that was shown differs from the one that the issuer attested.",
        "Do not rely on the file; ask the person who gave it to you for the original.",
    ),
    Verdict.REVOKED: VerdictWords(
        Tone.BAD,
        "This attestation was withdrawn",
        "Its issuer has revoked it, and that cannot be undone.",
        "Do not rely on it; ask the person who showed it to you, or the issuer, for one that is valid.",
    ),
    Verdict.SUPERSEDED: VerdictWords(
        Tone.NOTE,
        "A newer version exists",
        "The issuer has replaced this attestation by another one.",
        "Look at the newer version, and rely on that one only.",
    ),
    Verdict.EXPIRED: VerdictWords(
        Tone.NOTE,
        "This attestation has expired",
        "It was valid until a day that the issuer set, and that day has passed.",
        "Ask the person who showed it to you for one that is still valid.",
    ),
    Verdict.INVALID: VerdictWords(
        Tone.BAD,
        "This attestation is not valid",
        "A check failed: it cannot be shown that the issuer named below made this statement and stands by it.",
        "Do not rely on it, and tell the issuer if you were given it as genuine.",
    ),
    Verdict.NOT_FOUND: VerdictWords(
        Tone.BAD,
        "There is no such attestation",
        "No attestation has the number in this page's address.",
        "Compare the address with what you were given, character by character; if it is the same, do not rely on it.",
    ),
    Verdict.UNKNOWN_ISSUER: VerdictWords(
        Tone.BAD,
        "The issuer is unknown",
        "The attestation exists, but the issuer that it names is not in the records.",
        "Do not rely on it.",
    ),
}


class Step(NamedTuple):
    """Texts of one of the eight steps (SPEC, `POST /v1/verify`); `silent` is shown if the step reports nothing."""

    name: str
    title: str
    question: str
    tone: Tone
    silent: str


STEPS: Final = (
    Step("resolve", "Found", "Is there such an attestation?", Tone.GOOD, "It is in the records."),
    Step("content", "File", "Is the file the one that was attested?", Tone.QUIET, "No file was shown to this page."),
    Step("status", "Status", "Is it still in force?", Tone.GOOD, "It is in force."),
    Step("governance", "Issuer", "Does the issuer stand in good order?", Tone.GOOD, "It does."),
    Step("key", "Key", "May the key that signed it be trusted?", Tone.GOOD, "The key is known and in use."),
    Step("signature", "Signature", "Did that key sign exactly this?", Tone.GOOD, "It did."),
    Step("transparency", "Public log", "Does it stand in the log, unchanged?", Tone.GOOD, "It does."),
    Step("policy", "Policies", "Do the rules of the service let it pass?", Tone.GOOD, "They do."),
)
NOT_REACHED: Final = "An earlier step had settled the matter."

REASONS: Final = {
    Reason.SIGNATURE_OK: (Tone.GOOD, "The issuer's key signed exactly this statement."),
    Reason.SIGNATURE_INVALID: (Tone.BAD, "The signature does not fit the statement."),
    Reason.STATUS_CURRENT: (Tone.GOOD, "It is in force: not withdrawn, not replaced, not expired."),
    Reason.ATTESTATION_REVOKED: (Tone.BAD, "The issuer has withdrawn it."),
    Reason.ATTESTATION_SUPERSEDED: (Tone.NOTE, "The issuer has replaced it by a newer one."),
    Reason.ATTESTATION_EXPIRED: (Tone.NOTE, "The time for which it was issued is over."),
    Reason.ATTESTATION_NOT_FOUND: (Tone.BAD, "There is none of this number."),
    Reason.PAYLOAD_HASH_OK: (Tone.GOOD, "The payload is the one that was attested."),
    Reason.PAYLOAD_HASH_MISMATCH: (Tone.BAD, "The payload is not the one that was attested."),
    Reason.DOCUMENT_HASH_OK: (Tone.GOOD, "The document is the one that was attested."),
    Reason.DOCUMENT_HASH_MISMATCH: (Tone.BAD, "The document is not the one that was attested."),
    Reason.DOCUMENT_HASH_NOT_STORED: (Tone.NOTE, "No document was attested, so none can be compared."),
    Reason.GOVERNANCE_OK: (Tone.GOOD, "The issuer is active."),
    Reason.ISSUER_SUSPENDED: (Tone.NOTE, "The issuer is suspended at present."),
    Reason.ISSUER_REVOKED: (Tone.NOTE, "The issuer was excluded from the service."),
    Reason.ISSUER_UNKNOWN: (Tone.BAD, "The issuer is not in the records."),
    Reason.KEY_ROTATED: (Tone.GOOD, "The key was in use then and has been replaced by another since."),
    Reason.KEY_REVOKED: (Tone.NOTE, "The key was revoked."),
    Reason.KEY_COMPROMISED: (Tone.NOTE, "The key fell into other hands."),
    Reason.KEY_NOT_FOUND: (Tone.BAD, "The key is not in the records."),
    Reason.TRANSPARENCY_PROOF_OK: (Tone.GOOD, "It stands in the public log, and the log's signed head proves it."),
    Reason.TRANSPARENCY_PROOF_FAILED: (Tone.BAD, "The public log does not prove it."),
    Reason.POLICY_OK: (Tone.GOOD, "No policy objects."),
    Reason.POLICY_DENIED: (Tone.BAD, "A policy objects."),
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
