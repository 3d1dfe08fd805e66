"""Report of an offline verification: the verdict, the results of its steps, and what no bundle can prove."""

from __future__ import annotations

from dataclasses import dataclass

from attestlab.attestations.rules import ATTESTATION, RecordKind, Verdict
from attestlab.attestations.verification.logged_issuer import LoggedIssuer
from attestlab.attestations.verification.steps import VerificationResult

NAME_NOT_PROVEN = "the issuer's name and domain, which no log entry of the bundle proves"
_FINAL_VERDICTS = frozenset({Verdict.REVOKED, Verdict.SUPERSEDED, Verdict.EXPIRED})


@dataclass(frozen=True)
class OfflineReport:
    """Result of an offline verification: the verdict, each step's result, and the checks no bundle can prove."""

    report: VerificationResult
    tree_size: int | None
    origin: str | None
    as_of: int | None = None  # the status was compared with the status list of this many entries
    issuer: LoggedIssuer | None = None  # None if the log entries of the bundle do not prove its name
    kind: RecordKind = ATTESTATION

    @property
    def not_checked(self) -> tuple[str, ...]:
        """Checks that the bundle leaves open, as phrases for people."""
        change = "its key" if self.verdict in _FINAL_VERDICTS else f"the {self.kind.noun} or its key"
        change += " was revoked, or its issuer suspended or revoked"
        if self.as_of is None:
            first = f"whether {change}: the bundle has no status list that proves otherwise"
        else:
            first = f"whether, after the first {self.as_of} entries of the log, {change}"
        unproven = () if self.issuer else (NAME_NOT_PROVEN,)
        return (first, *unproven, self.kind.unsigned, "the policies of the service")

    @property
    def verdict(self) -> Verdict:
        """The verdict of the verification."""
        return self.report.verdict
