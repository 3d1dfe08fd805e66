"""Verification of an Open Badge by `attestlab verify`: offline, against pinned metadata of its issuer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from attestlab.attestations.rules import Verdict
from attestlab.cli.colors import BAD, GOOD, paint
from attestlab.core.encoding import format_time
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.exports.badge_credential import BadgeCredential, VerifiedBadge

NOT_CHECKED = (
    "whether the attestation or its key was revoked or superseded since, which its page says",
    "whether the attestation is in the log, which its proof bundle proves",
)


@dataclass(frozen=True)
class BadgeReport:
    """Result of an offline verification of a badge: what the issuer signed, or why the badge does not hold."""

    verdict: Verdict
    badge: VerifiedBadge | None
    problem: str | None = None

    def as_json(self) -> dict[str, object]:
        """Return the report as the object that `--json` prints."""
        badge = self.badge
        until = None if badge is None or badge.valid_until is None else format_time(badge.valid_until)
        stated = badge and {
            "name": badge.name,
            "earner": badge.earner,
            "issuer": badge.issuer,
            "issuer_name": badge.issuer_name,
            "valid_from": format_time(badge.valid_from),
            "valid_until": until,
        }
        return {
            "verdict": self.verdict.value,
            "valid": self.verdict is Verdict.VALID,
            "attestation_id": badge and str(badge.attestation_id),
            "badge": stated,
            "problem": self.problem,
            "not_checked": list(NOT_CHECKED),
        }

    def as_text(self) -> str:
        """Return the report as lines for people."""
        color = GOOD if self.verdict is Verdict.VALID else BAD
        if self.badge is None:
            return f"{paint(self.verdict.value, color)}  Open Badge\n  {self.problem}"
        badge = self.badge
        lines = [
            f"{paint(self.verdict.value, color)}  Open Badge of attestation {badge.attestation_id}",
            f"  badge   {_show(badge.name)}",
            f"  earner  {_show(badge.earner)}",
            f"  issuer  {_show(badge.issuer_name)}, as it calls itself, with a key of {badge.issuer}",
        ]
        if badge.valid_until is not None:
            lines.append(f"  until   {format_time(badge.valid_until)}")
        return "\n".join([*lines, *(f"  not checked offline: {item}" for item in NOT_CHECKED)])


def verify_offline(badge: BadgeCredential, metadata: Path, now: datetime) -> BadgeReport:
    """Verify a badge against a file of JWT VC Issuer Metadata.

    Raises:
        OSError, ValidationFailed: the metadata cannot be read.
    """
    issuer, keys = _read_metadata(metadata.read_bytes())
    try:
        verified = badge.verify(issuer=issuer, keys=keys)
    except SignatureInvalid as error:
        return BadgeReport(Verdict.INVALID, None, error.message)
    return BadgeReport(verified.verdict_at(now), verified)


def _read_metadata(raw: bytes) -> tuple[str, list[Mapping[str, object]]]:
    """Read the URL and the keys of an issuer (draft-ietf-oauth-sd-jwt-vc, JWT VC Issuer Metadata)."""
    match parse_json(raw):
        case {"issuer": str(issuer), "jwks": {"keys": [*keys]}} if all(isinstance(key, dict) for key in keys):
            return issuer, keys
    raise ValidationFailed(
        "It is not the metadata of an issuer, an object with issuer and jwks.keys. Save what "
        "/.well-known/jwt-vc-issuer/v1/issuers/ID answers."
    )


def _show(text: str) -> str:
    return text if text.isprintable() else ascii(text)
