"""Rendering of signals, shared by the routes that return some, and of the results of bulk requests."""

from collections.abc import Sequence

import orjson

from attestlab.risk.signals.ndjson import Lines
from attestlab.risk.signals.shapes import BulkOut, RejectedLineOut, SignalOut
from attestlab.risk.signals.tables import RiskSignalRecord


def render_signal(row: RiskSignalRecord) -> SignalOut:
    """Render a signal."""
    columns = {name: getattr(row, name) for name in SignalOut.model_fields if name not in ("details", "score_unit")}
    return SignalOut(**columns, details=orjson.loads(row.details), score_unit=round(row.score / 100, 6))


def render_bulk(lines: Lines[object], accepted: int, warnings: Sequence[str] = ()) -> BulkOut:
    """Render the result of a bulk request whose lines are read."""
    shown = [RejectedLineOut(line=each.line, message=each.message) for each in lines.rejected]
    return BulkOut(
        accepted=accepted,
        rejected=shown,
        more_rejected=lines.rejected_count - len(shown),
        not_read=0,  # every line is read
        stopped_at_line=None,
        warnings=list(warnings),
    )
