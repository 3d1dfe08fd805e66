"""Name of a bundle's issuer: what the issuer's log entries prove of it, and what its trust tier says was verified.

An `issuer.status` entry has the `profile`, the SHA-256 of name and domain (CONTRACT section 7). Entries of earlier
versions have none, and prove no name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attestlab.attestations.rules import SignedStatement
from attestlab.attestations.verification.status_proof import StatusProof
from attestlab.core.errors import ProofInvalid, ValidationFailed
from attestlab.issuers.rules import KNOWN_BY
from attestlab.log import entries
from attestlab.log.entries import ParsedEntry


@dataclass(frozen=True)
class LoggedIssuer:
    """The name, the domain and the trust tier of an issuer, as its newest log entry in a bundle proves them."""

    name: str
    domain: str | None
    trust_tier: str

    @property
    def known_as(self) -> str | None:
        """What was verified about the issuer: its name, its domain, or nothing (None)."""
        known_by = KNOWN_BY.get(self.trust_tier)
        return {"name": self.name, "domain": self.domain}.get(known_by or "")


def verify_issuer(issuer: Mapping[str, object], proof: StatusProof, statement: SignedStatement) -> LoggedIssuer | None:
    """Verify the trust level of a bundle's issuer by its newest log entry, and return what the entry proves.

    That the name and the domain are those of its profile is checked when the bundle is read. Returns None if the
    entry has no profile, or if the bundle names no issuer: then no name is proven.

    Raises:
        ProofInvalid: a member differs from the log entry, or the entry is not the newest of this issuer.
    """
    members = _read_newest(proof, statement).members
    tier, profile, name, domain = members.get("trust_tier"), members.get("profile"), *_read_profile(issuer)
    if issuer.get("trust_level", tier) != tier:
        raise ProofInvalid("/issuer/trust_level differs from the log.")
    if profile is None or name is None:
        return None
    return LoggedIssuer(name, domain, str(tier))


def contradicts_profile(issuer: Mapping[str, object], proof: StatusProof, statement: SignedStatement) -> bool:
    """Whether the name and domain of a bundle are not those of the profile in its issuer's newest entry.

    An entry that cannot be read contradicts nothing here; the verification refuses it.
    """
    try:
        profile, name, domain = _read_newest(proof, statement).members.get("profile"), *_read_profile(issuer)
    except (ProofInvalid, ValidationFailed):
        return False
    return profile is not None and name is not None and entries.profile_name(name, domain) != profile


def _read_profile(issuer: Mapping[str, object]) -> tuple[str | None, str | None]:
    name, domain = issuer.get("name"), issuer.get("domain")
    if not isinstance(name, str | None) or not isinstance(domain, str | None):
        raise ProofInvalid("/issuer/name and /issuer/domain must be texts.")
    return name, domain


def _read_newest(proof: StatusProof, statement: SignedStatement) -> ParsedEntry:
    """Read the newest entry of the issuer; for a revoked issuer it may follow the entry that revoked it."""
    current = proof.issuer.newest.parse()
    if proof.profile is None:
        return current
    newest = proof.profile.parse()
    is_later = proof.profile.index > proof.issuer.newest.index
    if newest.subject != entries.issuer_subject(statement.issuer_id) or not is_later:
        raise ProofInvalid("The entry of the issuer's profile is about another issuer, or older than the newest.")
    if newest.members.get("status") != current.members.get("status"):
        raise ProofInvalid("The entry of the issuer's profile has another status than the newest.")
    return newest
