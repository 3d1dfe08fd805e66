"""`attestlab verify`: a bundle checked without database, server or network."""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attestlab.attestations.bundle import Bundle, OfflineReport, verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.core.errors import AttestLabError
from attestlab.core.wire import parse_json
from attestlab.log.trust import TrustPolicy

VALID, OTHER_VERDICT, UNUSABLE, COULD_NOT_CHECK = 0, 1, 2, 3
READ_BYTES = 1024 * 1024
NO_TRUST = (
    "No trust policy: nothing in a bundle can vouch for itself. Pin the log's key in a file "
    "(`log <vkey>` and `quorum none`) and name it with --trust or ATTESTLAB_TRUST."
)


def verify(bundle: Path, *, file: Path | None, trust: Path | None, as_json: bool) -> int:
    """Check a bundle and print each check with its result; returns the exit status."""
    try:
        parsed = Bundle.parse(parse_json(bundle.read_bytes()))
        file_sha256 = None if file is None else _sha256(file)
    except (OSError, AttestLabError) as fault:
        return _give_up(f"Unusable input: {fault}", UNUSABLE, as_json)
    if trust is None:
        return _give_up(NO_TRUST, COULD_NOT_CHECK, as_json)
    try:
        policy = TrustPolicy.parse(trust.read_bytes())
    except (OSError, AttestLabError) as fault:
        return _give_up(f"The trust policy cannot be used: {fault}", COULD_NOT_CHECK, as_json)
    report = verify_bundle(parsed, trust=policy, now=datetime.now(UTC), file_sha256=file_sha256)
    print(json.dumps(_as_json(parsed, report)) if as_json else _as_text(parsed, report))
    return VALID if report.verdict is Verdict.VALID else OTHER_VERDICT


def _sha256(path: Path) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while piece := source.read(READ_BYTES):
            digest.update(piece)
    return digest.digest()


def _give_up(message: str, code: int, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"verdict": None, "error": message}))
    print(f"attestlab: {message}", file=sys.stderr)
    return code


def _as_json(bundle: Bundle, report: OfflineReport) -> dict[str, Any]:
    return {
        "verdict": report.verdict.value,
        "valid": report.verdict is Verdict.VALID,
        "attestation_id": str(bundle.statement.id),
        "reasons": [reason.value for reason in report.report.reasons],
        "checks": [
            {
                "step": finding.step,
                "ok": finding.verdict is None,
                "reasons": [reason.value for reason in finding.reasons],
                "detail": finding.detail,
            }
            for finding in report.report.findings
        ],
        "log": {"origin": report.origin, "tree_size": report.tree_size},
        "not_checked": list(report.not_checked),
    }


def _as_text(bundle: Bundle, report: OfflineReport) -> str:
    lines = [f"{report.verdict.value}  attestation {bundle.statement.id}"]
    for finding in report.report.findings:
        mark = "ok    " if finding.verdict is None else "FAILED"
        said = ", ".join(reason.value for reason in finding.reasons) or "nothing to check"
        lines.append(f"  {mark} {finding.step:<13} {said}{'  ' + finding.detail if finding.detail else ''}")
    if report.origin is not None:
        lines.append(f"  log    {report.origin}, {report.tree_size} entries")
    lines += [f"  not checked offline: {item}" for item in report.not_checked]
    return "\n".join(lines)
