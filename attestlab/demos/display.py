"""Verification results as tables for notebooks: one row for each step, in the order of the specification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attestlab.attestations.bundle.report import OfflineReport
from attestlab.attestations.verification.steps import State, StepResult, VerificationResult

if TYPE_CHECKING:
    import pandas as pd

ONLINE = ("resolve", "content", "status", "governance", "key", "signature", "transparency", "policy")
OFFLINE = ("transparency", "signature", "content", "status", "governance", "key")

_RESULTS = {State.OK: "ok", State.FAILED: "FAILED", State.OPEN: "open", State.NOT_CHECKED: "not checked"}


def steps(report: VerificationResult | OfflineReport) -> pd.DataFrame:
    """Show the steps of a verification, of which `report` is the result, as a table.

    Returns:
        One row for each step, indexed by its name; columns `result` (ok, FAILED, open, not checked or skipped) and
        `reasons` (the codes of the checks that ran, separated by spaces).

    >>> from datetime import UTC, datetime
    >>> import attestlab
    >>> trust = attestlab.TrustPolicy.parse(lab.log.vkey().trust_policy)
    >>> diploma = next(lab.attestations.list(schema="degree"))
    >>> bundle = attestlab.Bundle.parse(diploma.bundle().document)
    >>> report = attestlab.verify_bundle(bundle, trust=trust, now=datetime.now(UTC))
    >>> attestlab.steps(report).loc["signature", "result"]
    'ok'
    """
    import pandas as pd

    expected, result = (OFFLINE, report.report) if isinstance(report, OfflineReport) else (ONLINE, report)
    findings = {finding.step: finding for finding in result.results}
    return pd.DataFrame([_row(step, findings.get(step)) for step in expected]).set_index("step")


def _row(step: str, finding: StepResult | None) -> dict[str, str]:
    if finding is None:
        return {"step": step, "result": "skipped", "reasons": ""}
    return {
        "step": step,
        "result": _RESULTS[finding.state],
        "reasons": " ".join(reason.value for reason in finding.reasons),
    }
