"""Verification of a chain of delegations by `attestlab verify`: offline, with the keys that a pinned log proves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from attestlab.agents.delegation.bundle import (
    DelegationBundle,
    VerifiedChain,
    is_delegation_bundle,
    verify_delegation_bundle,
)
from attestlab.agents.delegation.rules import ChainVerdict
from attestlab.cli.colors import BAD, GOOD, paint
from attestlab.core.encoding import format_time
from attestlab.core.strict_json import parse_json
from attestlab.log.note.trust_policy import TrustPolicy

NOT_CHECKED = (
    "whether a hop was revoked since, which GET /v1/delegations/revocations of its service lists",
    "whether an agent was suspended, narrowed or lost its key since, which POST /v1/delegations/verify counts",
)


@dataclass(frozen=True)
class DelegationReport:
    """Result of an offline verification of a chain."""

    verified: VerifiedChain

    @property
    def is_valid(self) -> bool:
        """Whether the verdict is VALID."""
        return self.verified.report.verdict is ChainVerdict.VALID

    def as_json(self) -> dict[str, object]:
        """Return the report as the object that `--json` prints."""
        report, head = self.verified
        return {
            "verdict": report.verdict.value,
            "valid": self.is_valid,
            "depth": report.depth,
            "root_agent_id": report.root_agent_id,
            "leaf_agent_id": report.leaf_agent_id,
            "effective_scopes": sorted(report.scopes.allows),
            "denied_scopes": sorted(report.scopes.denies),
            "expires_at": None if report.expires_at is None else format_time(report.expires_at),
            "reasons": list(report.reasons),
            "log": None if head is None else {"origin": head.origin, "tree_size": head.size},
            "not_checked": list(NOT_CHECKED),
        }

    def as_text(self) -> str:
        """Return the report as lines for people."""
        report = self.verified.report
        hops = "1 hop" if report.depth == 1 else f"{report.depth} hops"
        title = paint(report.verdict.value, GOOD if self.is_valid else BAD)
        lines = [f"{title}  chain of delegations, {hops}", *(f"  {reason}" for reason in report.reasons)]
        if report.leaf_agent_id is not None and report.expires_at is not None:
            lines += [
                f"  root    agent {report.root_agent_id}",
                f"  leaf    agent {report.leaf_agent_id}",
                f"  until   {format_time(report.expires_at)}",
            ]
        if self.is_valid:
            lines += [f"  allows  {', '.join(sorted(report.scopes.allows)) or 'nothing'}"]
            lines += [f"  denies  {', '.join(sorted(report.scopes.denies)) or 'nothing'}"]
        return "\n".join([*lines, *(f"  not checked offline: {item}" for item in NOT_CHECKED)])


def find_bundle(content: bytes) -> DelegationBundle | None:
    """Read the delegation bundle in a file; None if the file has another document.

    Raises:
        ValidationFailed: the file is not strict JSON, or the bundle cannot be read.
        NewerFormat: the bundle needs a newer version.
    """
    document = parse_json(content)
    return DelegationBundle.parse(document) if is_delegation_bundle(document) else None


def verify_offline(bundle: DelegationBundle, trust: Path, now: datetime) -> DelegationReport:
    """Verify a chain against a pinned log.

    Raises:
        OSError, ValidationFailed: the trust policy cannot be read.
    """
    policy = TrustPolicy.parse(trust.read_bytes())
    return DelegationReport(verify_delegation_bundle(bundle, trust=policy, now=now))
