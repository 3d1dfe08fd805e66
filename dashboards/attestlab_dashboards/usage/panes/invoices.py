"""The invoices, newest first, and the draft of the next one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.billing.rules import format_money
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.billing import InvoiceHandle
from attestlab.orgs.rules import Scope
from attestlab_dashboards.formats import day, plural
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.usage.state import UsageState
from attestlab_dashboards.widgets import SHORT_PAGE_ROWS, TableColumn, Tone, count_pages, empty, pager, pill, table

_ALL: Final = """SELECT number, CAST(status AS VARCHAR) AS status, period_start, period_end, amount_minor, currency,
  created_at FROM invoices ORDER BY created_at DESC, number DESC"""
_PAGE: Final = f"""WITH listed AS ({_ALL})
SELECT *, count(*) OVER () AS all_rows FROM listed LIMIT {SHORT_PAGE_ROWS} OFFSET $skipped"""
_TONES: Final[dict[str, tuple[Tone, str]]] = {
    "open": ("info", "clock"),
    "paid": ("good", "check"),
    "void": ("calm", "cross"),
}
_COLUMNS: Final = (
    TableColumn("Number"),
    TableColumn("For", phone=False),
    TableColumn("Issued", phone=False),
    TableColumn("State"),
    TableColumn("Amount", "right"),
)


class IssuedInvoice(NamedTuple):
    """An issued invoice, without its lines."""

    number: str
    status: str
    period_start: datetime
    period_end: datetime
    amount_minor: int
    currency: str
    created_at: datetime


class InvoicePage(NamedTuple):
    """A page of the invoices, how many there are, and the draft of the next one."""

    rows: tuple[IssuedInvoice, ...]
    all_rows: int
    draft: InvoiceHandle
    now: datetime


def load_invoices(lab: Lab, state: UsageState) -> InvoicePage:
    """Load a page of the invoices."""
    found = LakeQuery(_PAGE, {"skipped": (state.page - 1) * SHORT_PAGE_ROWS}).read_rows(lab)
    rows = tuple(IssuedInvoice(**{name: row[name] for name in IssuedInvoice._fields}) for row in found)  # type: ignore[arg-type]  # the query has the fields' types
    total = int(str(found[0]["all_rows"])) if found else 0
    return InvoicePage(rows, total, lab.billing.preview_invoice(), lab.now())


def export_invoices(lab: Lab, _state: UsageState) -> Rows:
    """Return all invoices."""
    return LakeQuery(_ALL, {}).read(lab)


def write_invoices_sql(_state: UsageState) -> str:
    """Write the query of all invoices."""
    return _ALL


def write_reading(page: InvoicePage, _state: UsageState) -> str:
    """Write how many there are."""
    return f"{plural(page.all_rows, 'invoice')}, newest first; what costs nothing has none"


def draw_invoices(page: InvoicePage, state: UsageState) -> Markup:
    """Draw the draft of the next invoice, and a page of the issued ones."""
    if not page.rows:
        why = "An invoice is issued when something is charged, and at the start of each month."
        return join([_draw_draft(page), empty("No invoice" if state.page == 1 else "No invoice on this page", why)])
    listed = table(
        _COLUMNS,
        [_draw_row(row, page.now) for row in page.rows],
        caption="Invoices",
        keys=[row.number for row in page.rows],
    )
    return join([_draw_draft(page), listed, pager(state.page, count_pages(page.all_rows), ev="page")])


def _draw_draft(page: InvoicePage) -> Markup:
    draft = page.draft
    lines = ", ".join(f"{line.quantity} x {line.description}" for line in draft.lines)
    return html(
        '<p class="us-draft"><span>Next, on {day}{lines}</span><b>{amount}</b></p>',
        day=day(draft.period_start, page.now),
        lines=f": {lines}" if lines else "",
        amount=format_money(draft.amount_minor, draft.currency),
    )


def _draw_row(row: IssuedInvoice, now: datetime) -> list[Markup]:
    tone, glyph = _TONES.get(row.status, ("calm", "minus"))
    last = row.period_end - timedelta(seconds=1)
    return [
        html('<span class="mono">{number}</span>', number=row.number),
        html("{first} to {last}", first=day(row.period_start, now), last=day(last, now)),
        html("{issued}", issued=day(row.created_at, now)),
        pill(row.status, tone, glyph),
        html("{amount}", amount=format_money(row.amount_minor, row.currency)),
    ]


PANE: Final = Pane(
    key="invoices",
    question="Invoices",
    reading=write_reading,
    load=load_invoices,
    draw=draw_invoices,
    reads=("page",),
    scope=Scope.BILLING_READ.value,
    copy_sql=write_invoices_sql,
    export=export_invoices,
    is_common=True,
)
