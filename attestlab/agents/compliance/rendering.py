"""Rendering of compliance checks as wire models; this module makes no decisions."""

from __future__ import annotations

import orjson

from attestlab.agents.compliance.rules import CHECK_TTL, DISCLAIMER
from attestlab.agents.compliance.shapes import ComplianceCheckOut
from attestlab.agents.compliance.tables import ComplianceCheckRecord
from attestlab.core.row_rendering import RowRenderer

render_check = RowRenderer(
    ComplianceCheckOut,
    ComplianceCheckRecord,
    check_id="id",
    findings=lambda row: orjson.loads(row.findings),
    left_out=lambda row: row.left_out.split(),
    self_assessment=lambda _: True,
    disclaimer=lambda _: DISCLAIMER,
    valid_until=lambda row: row.created_at + CHECK_TTL,
)
