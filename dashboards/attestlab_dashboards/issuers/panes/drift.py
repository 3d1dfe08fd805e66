"""What has changed since they signed: attestations whose issuer stood otherwise when it minted them."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.standing import compose
from attestlab_dashboards.issuers.state import FILTERS, IssuerState
from attestlab_dashboards.issuers.words import write_word
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join

DRIFT_ROWS: Final = 8  # a page of the pane, next to the matrix
_STEPS: Final = """steps AS (
  SELECT compared.issuer_id, chosen.name, compared.attestations, unnest([
      {'what': 'risk', 'was': compared.risk_then, 'now': compared.risk_rating, 'worse': compared.risk_step > 0},
      {'what': 'tier', 'was': compared.tier_then, 'now': compared.trust_tier, 'worse': compared.tier_step < 0},
      {'what': 'status', 'was': status_then, 'now': compared.status, 'worse': compared.status <> 'ACTIVE'}]) AS step
  FROM compared JOIN chosen ON chosen.id = compared.issuer_id),
drift AS (
  SELECT issuer_id, name, step.what AS what, step.was AS was, step.now AS is_now, step.worse AS is_worse,
    sum(attestations)::BIGINT AS attestations
  FROM steps WHERE step.was <> step.now GROUP BY ALL)"""


class DriftRow(NamedTuple):
    """How many attestations an issuer minted when its risk, tier or status, as `what` says, was another one."""

    issuer_id: str
    name: str
    what: str
    was: str
    is_now: str
    is_worse: bool
    attestations: int


class DriftPage(NamedTuple):
    """A page of the drift, the number of all its rows, and the largest count."""

    rows: tuple[DriftRow, ...]
    all_rows: int
    most: int
    page: int


def compose_drift(state: IssuerState, *, page: int | None = None) -> LakeQuery:
    """Compose the query of one page, or of all rows."""
    order = "attestations DESC, name, what, was"
    if page is None:
        return _with_steps(state, f"SELECT * FROM drift ORDER BY {order}")
    paged = f"""SELECT *, count(*) OVER () AS all_rows, max(attestations) OVER () AS most,
  row_number() OVER (ORDER BY {order}, issuer_id) AS place FROM drift
QUALIFY (place - 1) // {DRIFT_ROWS} = least($page, (all_rows - 1) // {DRIFT_ROWS}) ORDER BY place"""
    return _with_steps(state, paged, page=page - 1)


def load_drift(lab: Lab, state: IssuerState) -> DriftPage:
    """Load a page of the drift."""
    rows = compose_drift(state, page=state.drift_page).read_rows(lab)
    all_rows, most = (int(str(rows[0][name])) for name in ("all_rows", "most")) if rows else (0, 0)
    page = (int(str(rows[0]["place"])) - 1) // DRIFT_ROWS + 1 if rows else 1
    return DriftPage(tuple(map(_read_row, rows)), all_rows, most, page)


def export_drift(lab: Lab, state: IssuerState) -> Rows:
    """Return all of the drift."""
    return compose_drift(state).read(lab)


def write_drift_sql(state: IssuerState) -> str:
    """Write the query."""
    return compose_drift(state).to_sql()


def _with_steps(state: IssuerState, select: str, **more: int) -> LakeQuery:
    return compose(state, f", {_STEPS}\n{select}", **more)


def _read_row(row: dict[str, object]) -> DriftRow:
    return DriftRow(**{name: row[name] for name in DriftRow._fields})  # type: ignore[arg-type]  # the query's types


def draw_drift(page: DriftPage, state: IssuerState) -> Markup:
    """Draw a page of the drift."""
    if not page.rows:
        if state.active_filters:
            return draw_nothing_found(state)
        return widgets.empty("Nothing changed", "Every attestation has the standing that its issuer has today.")
    rows = join(_draw_row(row, page.most) for row in page.rows)
    pager = widgets.pager(page.page, -(-page.all_rows // DRIFT_ROWS), ev="drift_page")
    return html('<ul class="is-drift">{rows}</ul>{pager}', rows=rows, pager=pager)


def _draw_row(row: DriftRow, most: int) -> Markup:
    tone = "bad" if row.is_worse else "good"
    return html(
        '<li><button type="button" class="is-name" data-ev="issuer" data-v="{id}" data-key="drift:{id}:{what}:{was}">'
        '{name}</button><span class="is-step"><span class="muted">{what}</span> {was} <span aria-label="to">→</span> '
        '<b class="{tone}">{is_now}</b></span><b class="num" title="attestations">{number}</b>{bar}</li>',
        id=row.issuer_id,
        name=row.name,
        what=row.what,
        was=write_word(row.was),
        tone=tone,
        is_now=write_word(row.is_now),
        number=count(row.attestations),
        bar=widgets.share_bar(row.attestations / most if most else 0.0, "red" if row.is_worse else "green"),
    )


PANE: Final = Pane(
    key="drift",
    question="What has changed since they signed",
    reading="Attestations whose issuer had another standing when they were minted",
    span=5,
    load=load_drift,
    draw=draw_drift,
    reads=(*FILTERS, "drift_page"),
    scope=Scope.ISSUERS_READ.value,
    copy_sql=write_drift_sql,
    export=export_drift,
    is_common=True,
)
