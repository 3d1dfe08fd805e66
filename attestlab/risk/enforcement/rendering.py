"""Rendering of cases and list entries, shared by the routes that return some."""

from attestlab.risk.enforcement.shapes import CaseOut, ListEntryOut
from attestlab.risk.enforcement.store import RiskCaseRecord, RiskListEntryRecord


def render_case(row: RiskCaseRecord) -> CaseOut:
    """Render a case."""
    return CaseOut(**{name: getattr(row, name) for name in CaseOut.model_fields})


def render_list_entry(row: RiskListEntryRecord) -> ListEntryOut:
    """Render an entry of a list."""
    return ListEntryOut(**{name: getattr(row, name) for name in ListEntryOut.model_fields})
