"""Rules for reports that an activation relies on (CONTRACT section 9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.ordered_bounds import find_reversed_bounds

REPORT_TTL = timedelta(hours=24)


@dataclass(frozen=True)
class ReportSummary:
    """Key facts of a simulation report: policy digest, baseline digest, time, self-check result.

    `excluded_rows` is the number of rows outside the report's window.
    """

    document_digest: str
    baseline_digest: str
    made_at: datetime
    unexpected_flips: int
    excluded_rows: int


def require_current(report: ReportSummary | None, *, document_digest: str, baseline_digest: str, now: datetime) -> None:
    """Reject unless the report covers exactly this version and the present baseline, over the full history, within
    24 hours.

    Raises:
        Conflict: there is no report (`simulation_missing`), it is about something else or too old
            (`simulation_stale`), it excluded a part of the history (`simulation_windowed`), or the history did not
            reproduce as recorded (`self_check_failed`).
    """
    if report is None:
        raise _conflict("simulation_missing", "No such simulation of this policy exists; simulate this version,")
    if report.document_digest != document_digest:
        raise _conflict("simulation_stale", "The simulation is of another version; simulate this one,")
    if report.baseline_digest != baseline_digest:
        raise _conflict("simulation_stale", "The active policies or the attributes have changed since; simulate again,")
    if now - report.made_at > REPORT_TTL:
        raise _conflict("simulation_stale", "The simulation is older than 24 hours; simulate again,")
    if report.excluded_rows:
        raise _conflict(
            "simulation_windowed",
            f"The simulation excluded {report.excluded_rows:,} decisions; run it over the full history,",
        )
    if report.unexpected_flips:
        details = {"reason": "self_check_failed", "unexpected_flips": report.unexpected_flips}
        raise Conflict(
            f"{report.unexpected_flips:,} past decisions do not reproduce as recorded, so the simulation is "
            "unreliable; check its examples, and run `attestlab log fsck`.",
            details=details,
        )


def require_window(start: datetime | None, end: datetime | None) -> None:
    """Require the bounds of a history: both with a time zone, and `start` before `end`.

    Raises:
        ValidationFailed: a bound has no time zone, or the window is empty.
    """
    for field, moment in (("/from", start), ("/to", end)):
        if moment is not None and moment.utcoffset() is None:
            raise ValidationFailed.of(field, "no_time_zone", f"{moment} has no time zone; add one, such as UTC.")
    if fault := find_reversed_bounds("from", start, "to", end):
        raise ValidationFailed(fault.message, [fault])
    if start is not None and start == end:
        raise ValidationFailed.of("/to", "window", "The window is empty; `from` must be before `to`.")


def _conflict(reason: str, message: str) -> Conflict:
    return Conflict(f"{message} then activate with the new report's digest.", details={"reason": reason})
