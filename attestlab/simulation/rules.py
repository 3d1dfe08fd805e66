"""When a report still speaks of what an activation would do (CONTRACT section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from attestlab.core.errors import Conflict

REPORT_TTL = timedelta(hours=24)


@dataclass(frozen=True)
class ReportSummary:
    """What a report is about: a text, among what was in force, at a time, how its self-check came out.

    `left_out` is how much of the past its window did not show.
    """

    document_digest: str
    baseline_digest: str
    made_at: datetime
    unexpected_flips: int
    excluded_rows: int


def require_current(report: ReportSummary | None, *, document_digest: str, baseline_digest: str, now: datetime) -> None:
    """Refuse unless it is about exactly this text, among what is in force, on the whole past, of the last 24 hours.

    Raises:
        Conflict: there is none (`simulation_missing`), it is about something else or too old (`simulation_stale`), it
            left a part of the past out (`simulation_windowed`), or the past did not come out as it was recorded
            (`self_check_failed`).
    """
    if report is None:
        raise _conflict("simulation_missing", "No such simulation of this policy is known; simulate this version,")
    if report.document_digest != document_digest:
        raise _conflict("simulation_stale", "The simulation is of another version; simulate this one,")
    if report.baseline_digest != baseline_digest:
        raise _conflict("simulation_stale", "What is in force, or an attribute, has changed since; simulate anew,")
    if now - report.made_at > REPORT_TTL:
        raise _conflict("simulation_stale", "The simulation is older than 24 hours; simulate anew,")
    if report.excluded_rows:
        raise _conflict(
            "simulation_windowed", f"The simulation left {report.excluded_rows:,} of the past out; simulate all,"
        )
    if report.unexpected_flips:
        details = {"reason": "self_check_failed", "unexpected_flips": report.unexpected_flips}
        raise Conflict(
            f"{report.unexpected_flips:,} past decisions do not come out as they were recorded, so the simulation says "
            "little; look at its examples, and run `attestlab log fsck`.",
            details=details,
        )


def _conflict(reason: str, message: str) -> Conflict:
    return Conflict(f"{message} and activate it with the report's digest.", details={"reason": reason})
