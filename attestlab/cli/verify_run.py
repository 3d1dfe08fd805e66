"""Verification of a run of agents by `attestlab verify`: offline, with hash and keys that a pinned log proves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attestlab.agents.runs.bundle import RunBundle, RunReport, RunVerdict, is_run_bundle, verify_run_bundle
from attestlab.cli.colors import BAD, GOOD, paint
from attestlab.core.counting import plural
from attestlab.core.strict_json import parse_json
from attestlab.log.note.trust_policy import TrustPolicy

NOT_CHECKED = (
    "what the steps did: agents state hashes of inputs and outputs, and the service sees neither",
    "whether the agents were below the run's agent, which their delegations show",
    "whether a key was compromised before it signed; look for later entries agent.key of the log",
)


@dataclass(frozen=True)
class OfflineRunReport:
    """Result of an offline verification of a run."""

    bundle: RunBundle
    report: RunReport

    @property
    def is_valid(self) -> bool:
        """Whether the verdict is VALID."""
        return self.report.verdict is RunVerdict.VALID

    def as_json(self) -> dict[str, object]:
        """Return the report as the object that `--json` prints."""
        head = self.report.head
        return {
            "verdict": self.report.verdict.value,
            "valid": self.is_valid,
            "orchestration_id": self.bundle.orchestration_id,
            "agent_id": self.bundle.agent_id,
            "status": self.bundle.status.value,
            "run_hash": self.bundle.run_hash,
            "planned_steps": len(self.bundle.plan),
            "recorded_steps": len(self.bundle.steps),
            "chain_ok": self.report.chain_ok,
            "unchained_steps": list(self.report.unchained),
            "reasons": [] if self.report.reason is None else [self.report.reason],
            "log": None if head is None else {"origin": head.origin, "tree_size": head.size},
            "not_checked": list(NOT_CHECKED),
        }

    def as_text(self) -> str:
        """Return the report as lines for people."""
        title = paint(self.report.verdict.value, GOOD if self.is_valid else BAD)
        counted = f"{len(self.bundle.steps)} of {plural(len(self.bundle.plan), 'step')}"
        lines = [f"{title}  run of agents, {self.bundle.status.value}, {counted}"]
        if self.report.reason is not None:
            lines.append(f"  {self.report.reason}")
        if self.is_valid:
            chained = "ok" if self.report.chain_ok else paint(f"NOT ok: {', '.join(self.report.unchained)}", BAD)
            lines += [
                f"  run     {self.bundle.orchestration_id}",
                f"  agent   {self.bundle.agent_id}",
                f"  hash    {self.bundle.run_hash}, entry {self.bundle.end.log_index} of the log",
                f"  chain   {chained}",
            ]
        return "\n".join([*lines, *(f"  not checked offline: {item}" for item in NOT_CHECKED)])


def find_bundle(content: bytes) -> RunBundle | None:
    """Read the bundle of a run in a file; None if the file has another document.

    Raises:
        ValidationFailed: the file is not strict JSON, or the bundle cannot be read.
        NewerFormat: the bundle needs a newer version.
    """
    document = parse_json(content)
    return RunBundle.parse(document) if is_run_bundle(document) else None


def verify_offline(bundle: RunBundle, trust: Path) -> OfflineRunReport:
    """Verify a run against a pinned log.

    Raises:
        OSError, ValidationFailed: the trust policy cannot be read.
    """
    policy = TrustPolicy.parse(trust.read_bytes())
    return OfflineRunReport(bundle, verify_run_bundle(bundle, trust=policy))
