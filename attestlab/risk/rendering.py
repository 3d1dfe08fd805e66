"""Rows of risk as wire models and in files, and the results of bulk requests, for the routes of risk."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import orjson

from attestlab.core.row_rendering import RowRenderer
from attestlab.core.table_files import RowShape, list_formats
from attestlab.risk.enforcement.comments import Discussion, RiskCaseCommentRecord
from attestlab.risk.enforcement.shapes import CaseOut, CommentOut, ListEntryOut
from attestlab.risk.enforcement.store import RiskCaseRecord, RiskListEntryRecord
from attestlab.risk.rules import Factor
from attestlab.risk.shapes import FactorOut
from attestlab.risk.signals.ndjson import Lines, RejectedLine
from attestlab.risk.signals.shapes import BulkOut, RecordedSignalOut, RejectedLineOut, SignalOut
from attestlab.risk.signals.store import RiskSignalRecord


def _read_details(row: RiskSignalRecord) -> object:
    return orjson.loads(row.details)


def _scale_score(row: RiskSignalRecord) -> float:
    return round(row.score / 100, 6)


render_signal = RowRenderer(SignalOut, RiskSignalRecord, details=_read_details, score_unit=_scale_score)
render_recorded_signal = RowRenderer(
    RecordedSignalOut, RiskSignalRecord, computed=["warnings"], details=_read_details, score_unit=_scale_score
)


def _explain_case(row: RiskCaseRecord) -> str:
    """Say why a case was opened; cases of older versions do not know the kind of their highest signal."""
    of_kind = "" if row.top_kind is None else f" of {row.top_kind}"
    if row.signal_count == 1:
        return f"A signal{of_kind} scored {row.max_score:.4g}."
    return f"{row.signal_count:,} signals reached the threshold; the highest{of_kind} scored {row.max_score:.4g}."


render_comment = RowRenderer(CommentOut, RiskCaseCommentRecord)
_render_case = RowRenderer(CaseOut, RiskCaseRecord, computed=["comment_count", "comments"], why=_explain_case)
render_list_entry = RowRenderer(ListEntryOut, RiskListEntryRecord)
render_factor = RowRenderer(FactorOut, Factor)
_render_rejected_line = RowRenderer(RejectedLineOut, RejectedLine)


def render_case(row: RiskCaseRecord, discussion: Discussion) -> CaseOut:
    """Render a case with its comments."""
    written = list(map(render_comment, discussion.comments))
    return _render_case(row, comment_count=discussion.total, comments=written)


def render_cases(rows: Iterable[RiskCaseRecord], discussions: Mapping[UUID, Discussion]) -> list[CaseOut]:
    """Render cases with the newest comments of each."""
    return [render_case(row, discussions.get(row.id, Discussion())) for row in rows]


def render_bulk(lines: Lines[object], accepted: int, warnings: Sequence[str] = ()) -> BulkOut:
    """Render the result of a bulk request whose lines are read."""
    return BulkOut(
        accepted=accepted,
        rejected=list(map(_render_rejected_line, lines.rejected)),
        more_rejected=lines.rejected_count - len(lines.rejected),
        not_read=0,  # every line is read
        stopped_at_line=None,
        warnings=list(warnings),
    )


COLUMNS = tuple(SignalOut.model_fields)


def _list_values(row: RiskSignalRecord) -> list[object]:
    """Return the values of a signal in the order of `COLUMNS`; ids are texts."""
    values = {**row._asdict(), "score_unit": round(row.score / 100, 6)}
    for name in ("id", "tenant_id", "case_id", "event_id", "replaces"):
        values[name] = None if values[name] is None else str(values[name])
    return [values[name] for name in COLUMNS]


FORMATS = list_formats(
    RowShape(
        COLUMNS,
        _list_values,
        lambda row: render_signal(row).model_dump_json().encode(),
        {"score": "float", "score_unit": "float", "occurred_at": "time", "created_at": "time"},
    )
)
