"""File formats of exported signals: the columns of a signal as the list shows it."""

from __future__ import annotations

from attestlab.core.table_files import RowShape, list_formats
from attestlab.risk.rendering import render_signal
from attestlab.risk.signals.shapes import SignalOut
from attestlab.risk.signals.store import RiskSignalRecord

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
