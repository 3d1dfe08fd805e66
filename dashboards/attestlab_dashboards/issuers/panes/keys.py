"""The keys of twelve months in a lane for each issuer, hatched where a key is over its age limit or was lost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, day, plural
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.overview import write_limit
from attestlab_dashboards.issuers.standing import compose
from attestlab_dashboards.issuers.state import AGE_LIMITS, FILTERS, IssuerState
from attestlab_dashboards.issuers.words import draw_status
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

LANES: Final = 12  # a page
SHOWN_DAYS: Final = 365
_LANES: Final = f"""signed AS (SELECT issuer_id, kid, count(*) AS attestations FROM attestations GROUP BY ALL),
lanes AS (
  SELECT c.id AS issuer_id, c.name, k.kid, k.alg, k.status, k.began, k.lost, k.withdrawn,
    coalesce(k.rotated, k.withdrawn) AS ended, coalesce(s.attestations, 0)::BIGINT AS attestations,
    min(k.began) FILTER (k.status = 'active') OVER lane AS oldest
  FROM keys k JOIN chosen c ON c.id = k.issuer_id LEFT JOIN signed s ON s.issuer_id = k.issuer_id AND s.kid = k.kid
  WHERE k.began IS NOT NULL
    AND coalesce(k.rotated, k.withdrawn, k.began) >= CASE WHEN k.status = 'active' THEN k.began
      ELSE now() - INTERVAL {SHOWN_DAYS} DAY END
  WINDOW lane AS (PARTITION BY c.id)),
placed AS (
  SELECT *, dense_rank() OVER (ORDER BY oldest NULLS LAST, lower(name), issuer_id) - 1 AS lane FROM lanes),
counted AS (SELECT *, max(lane) OVER () + 1 AS all_lanes FROM placed)"""
_ORDER: Final = "ORDER BY lane, began, kid"


class KeySpan(NamedTuple):
    """A key: in use from `began` until `ended`, None while it is; `lost` is when others may have begun to sign."""

    issuer_id: str
    name: str
    kid: str
    alg: str
    status: str
    began: datetime
    ended: datetime | None
    withdrawn: datetime | None
    lost: datetime | None
    attestations: int

    @property
    def in_use(self) -> bool:
        """Whether it signs."""
        return self.status == "active"

    def age_days(self, now: datetime) -> int:
        """Return how many days it has been in use, or was."""
        return ((self.ended or now) - self.began).days


class KeyLanes(NamedTuple):
    """A page of lanes: the keys by issuer, and the number of all lanes."""

    now: datetime
    lanes: tuple[tuple[KeySpan, ...], ...]
    all_lanes: int
    page: int


def compose_lanes(state: IssuerState, *, page: int | None = None) -> LakeQuery:
    """Compose the query of the keys of one page of lanes, or of all keys."""
    if page is None:
        columns = "name, kid, alg, status, began, ended, lost, attestations"
        return compose(state, f", {_LANES}\nSELECT {columns} FROM counted {_ORDER}")
    paged = f"SELECT * FROM counted WHERE lane // {LANES} = least($page, (all_lanes - 1) // {LANES}) {_ORDER}"
    return compose(state, f", {_LANES}\n{paged}", page=page - 1)


def load_lanes(lab: Lab, state: IssuerState) -> KeyLanes:
    """Load a page of lanes."""
    rows = compose_lanes(state, page=state.keys_page).read_rows(lab)
    lanes: dict[str, list[KeySpan]] = {}
    for row in rows:
        lanes.setdefault(str(row["issuer_id"]), []).append(_read_span(row))
    all_lanes, first = (int(str(rows[0][name])) for name in ("all_lanes", "lane")) if rows else (0, 0)
    return KeyLanes(lab.now(), tuple(map(tuple, lanes.values())), all_lanes, first // LANES + 1)


def export_lanes(lab: Lab, state: IssuerState) -> Rows:
    """Return all keys."""
    return compose_lanes(state).read(lab)


def write_lanes_sql(state: IssuerState) -> str:
    """Write the query."""
    return compose_lanes(state).to_sql()


def _read_span(row: dict[str, object]) -> KeySpan:
    return KeySpan(**{name: row[name] for name in KeySpan._fields})  # type: ignore[arg-type]  # the query's types


_MONTHS: Final = 12
_LEGEND: Final = (
    ("accent", "in use"),
    ("old", "in use, over {limit}"),
    ("calm", "rotated"),
    ("lost", "lost, until its report"),
    ("revoked", "revoked"),
)


def write_reading(lanes: KeyLanes, state: IssuerState) -> str:
    """Write what the lanes show."""
    return f"Twelve months, the oldest key first. A key is due for rotation after {write_limit(state.age_limit)}"


def draw_lanes(lanes: KeyLanes, state: IssuerState) -> Markup:
    """Draw a page of lanes with their legend."""
    if not lanes.lanes:
        if state.active_filters:
            return draw_nothing_found(state)
        return widgets.empty("No key in a year", html("Add one with <code>lab.issuers.add_key(issuer, kid)</code>."))
    return join(
        [
            _draw_limits(state.age_limit),
            html(
                '<div class="is-lanes" role="list">{axis}{lanes}</div>',
                axis=_draw_axis(lanes.now),
                lanes=join(_draw_lane(lane, lanes.now, state.age_limit) for lane in lanes.lanes),
            ),
            _draw_legend(state.age_limit),
            widgets.pager(lanes.page, -(-lanes.all_lanes // LANES), ev="keys_page"),
        ]
    )


def _draw_limits(chosen: int) -> Markup:
    chips = join(
        widgets.chip(f"over {write_limit(days)}", ev="age_limit", v=str(days), pressed=days == chosen)
        for days in AGE_LIMITS
    )
    return html('<div class="chips is-limits" role="group" aria-label="Age limit of keys">{chips}</div>', chips=chips)


def _draw_axis(now: datetime) -> Markup:
    step = timedelta(days=SHOWN_DAYS / _MONTHS)
    starts = [now - timedelta(days=SHOWN_DAYS) + step * number for number in range(_MONTHS)]
    months = join(html("<span>{month}</span>", month=day(start, start).split()[1]) for start in starts)
    return html(
        '<div class="is-axis" aria-hidden="true"><span></span><div>{months}</div><span>age</span>'
        '<span class="num">signed</span></div>',
        months=months,
    )


def _draw_lane(lane: Sequence[KeySpan], now: datetime, limit: int) -> Markup:
    newest = max(lane, key=lambda span: (span.in_use, span.began))
    return html(
        '<div class="is-lane" role="listitem"><button type="button" class="is-name" data-ev="issuer" data-v="{id}" '
        'data-key="lane:{id}">{name}</button><div class="is-track">{spans}</div>{age}'
        '<span class="num muted">{signed}</span></div>',
        id=newest.issuer_id,
        name=newest.name,
        spans=join(_draw_span(span, now, limit) for span in lane),
        age=_draw_age(lane, now, limit),
        signed=count(sum(span.attestations for span in lane)),
    )


def _draw_age(lane: Sequence[KeySpan], now: datetime, limit: int) -> Markup:
    in_use = [span for span in lane if span.in_use]
    if not in_use:
        return html("<span>{status}</span>", status=draw_status(max(lane, key=lambda span: span.began).status))
    age = max(span.age_days(now) for span in in_use)
    if age >= limit:
        return html("<span>{pill}</span>", pill=widgets.pill(plural(age, "day"), "warn", "warn"))
    return html("<span>{age}</span>", age=plural(age, "day"))


def _draw_span(span: KeySpan, now: datetime, limit: int) -> Markup:
    end = span.ended or now
    start, stop = _place(span.began, now), _place(end, now)
    return html(
        '<button type="button" class="is-key {css}" data-ev="key" data-v="{key}" data-key="span:{key}" '
        'style="left:{left}%;width:{width}%" title="{about}" aria-label="{about}"><span>{label}</span></button>{marks}',
        css={"active": "accent", "revoked": "revoked", "compromised": "calm"}.get(span.status, "calm"),
        key=f"{span.issuer_id}/{span.kid}",
        left=f"{start:.2f}",
        width=f"{stop - start:.2f}",
        about=describe_key(span, now),
        label=span.kid if stop - start > 9 else "",
        marks=join([_draw_old_part(span, now, limit), _draw_lost_part(span, now)]),
    )


def describe_key(span: KeySpan, now: datetime) -> str:
    """Describe a key in a line, for the pointer and for readers of screens."""
    until = day(span.ended, now) if span.ended else "now"
    used = plural(span.age_days(now), "day")
    signed = plural(span.attestations, "attestation")
    return f"{span.kid} ({span.alg}), {span.status}: {day(span.began, now)} to {until}, {used}, {signed}"


def _draw_old_part(span: KeySpan, now: datetime, limit: int) -> Markup:
    due = span.began + timedelta(days=limit)
    return _draw_part("old", due, now, now) if span.in_use and due < now else NOTHING


def _draw_lost_part(span: KeySpan, now: datetime) -> Markup:
    if span.status != "compromised" or span.withdrawn is None:
        return NOTHING
    part = _draw_part("lost", span.lost, span.withdrawn, now) if span.lost else NOTHING
    return join([part, html('<i class="is-report" style="left:{at}%"></i>', at=f"{_place(span.withdrawn, now):.2f}")])


def _draw_part(css: str, start: datetime, stop: datetime, now: datetime) -> Markup:
    left, right = _place(start, now), _place(stop, now)
    return html(
        '<i class="is-part {css}" style="left:{left}%;width:{width}%"></i>',
        css=css,
        left=f"{left:.2f}",
        width=f"{max(0.0, right - left):.2f}",
    )


def _place(at: datetime, now: datetime) -> float:
    """Return where a time is in the shown year, in percent; what is older is at the left edge."""
    days = (at - (now - timedelta(days=SHOWN_DAYS))).total_seconds() / 86_400
    return 100 * min(1.0, max(0.0, days / SHOWN_DAYS))


def _draw_legend(limit: int) -> Markup:
    items = join(
        html('<span><i class="{css}"></i>{word}</span>', css=css, word=word.format(limit=write_limit(limit)))
        for css, word in _LEGEND
    )
    return html('<div class="is-legend">{items}</div>', items=items)


PANE: Final = Pane(
    key="keys",
    question="Keys",
    reading=write_reading,
    load=load_lanes,
    draw=draw_lanes,
    reads=(*FILTERS, "keys_page"),
    scope=Scope.ISSUERS_READ.value,
    copy_sql=write_lanes_sql,
    export=export_lanes,
    is_common=True,
)
