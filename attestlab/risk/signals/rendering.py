"""Rendering of signals, shared by the routes that return some."""

import orjson

from attestlab.risk.signals.shapes import SignalOut
from attestlab.risk.signals.tables import RiskSignalRecord


def render_signal(row: RiskSignalRecord) -> SignalOut:
    """Render a signal."""
    columns = {name: getattr(row, name) for name in SignalOut.model_fields if name not in ("details", "score_unit")}
    return SignalOut(**columns, details=orjson.loads(row.details), score_unit=round(row.score / 100, 6))
