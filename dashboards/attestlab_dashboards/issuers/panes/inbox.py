"""What reached recipients: deliveries to inboxes by state, issuer and day.

Only the state of a delivery is shown, which its issuer may know. Whether and when a recipient read an attestation,
and who the recipients are, no pane shows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import axes, widgets
from attestlab_dashboards.formats import count, day, percent, plural, time_tag
from attestlab_dashboards.issuers.standing import compose
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import TableColumn, table

WEEKS: Final = 26  # that the chart shows
MAX_ISSUERS: Final = 12  # in the table; the export has all
_WEEK: Final = timedelta(days=7)
_TIME_TICKS: Final = 5
_SENT: Final = """sent AS (
  SELECT i.issuer_id, chosen.name, CAST(i.delivery_state AS VARCHAR) AS state, date_trunc('day', i.created_at) AS day
  FROM inbox_items i JOIN chosen ON chosen.id = i.issuer_id),
counted AS (SELECT issuer_id, name, day, state, count(*) AS deliveries FROM sent GROUP BY ALL)"""
_SHOWN: Final = f"""SELECT 'issuer' AS kind, issuer_id, any_value(name) AS name, state, max(day) AS day,
  sum(deliveries)::BIGINT AS deliveries FROM counted GROUP BY issuer_id, state
UNION ALL SELECT 'day', NULL, NULL, state, day, sum(deliveries)::BIGINT FROM counted
WHERE day > (SELECT max(day) FROM counted) - INTERVAL {7 * WEEKS} DAY GROUP BY state, day"""
_EXPORTED: Final = "SELECT issuer_id, name, day, state, deliveries FROM counted ORDER BY day DESC, name, state"
_COLUMNS: Final = (
    TableColumn("Issuer"),
    TableColumn("Deliveries", "right"),
    TableColumn("Delivered", "right", phone=False),
    TableColumn("Waiting", "right"),
    TableColumn("Declined", "right"),
    TableColumn("Newest", "right", phone=False),
)


@dataclass(frozen=True)
class StateWords:
    """A state of deliveries: how it reads, its colour in charts, and what it means."""

    word: str
    tone: str
    meaning: str


STATES: Final = {
    "DELIVERED": StateWords("delivered", "green", "in the inbox of an account"),
    "PENDING": StateWords("waiting", "amber", "for an account with the address"),
    "DECLINED": StateWords("declined", "red", "by the recipient, for good"),
}


@dataclass
class IssuerDeliveries:
    """The deliveries of an issuer by state, and the day of the newest one."""

    issuer_id: str
    name: str
    newest: datetime
    states: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class InboxDeliveries:
    """All deliveries of the chosen issuers, as of `now`; `days` are those of the last weeks by state."""

    now: datetime
    issuers: tuple[IssuerDeliveries, ...]
    days: dict[date, Counter[str]]

    @property
    def states(self) -> Counter[str]:
        """How many deliveries are in each state."""
        return sum((each.states for each in self.issuers), Counter())


def load_inbox(lab: Lab, state: IssuerState) -> InboxDeliveries:
    """Load the deliveries of the chosen issuers, those with the most first."""
    issuers: dict[str, IssuerDeliveries] = {}
    days: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for row in _compose(state, _SHOWN).read_rows(lab):
        at, found, number = row["day"], str(row["state"]), int(str(row["deliveries"]))
        assert isinstance(at, datetime)
        if row["kind"] == "day":
            days[at.astimezone(UTC).date()][found] += number
            continue
        issuer_id = str(row["issuer_id"])
        issuer = issuers.setdefault(issuer_id, IssuerDeliveries(issuer_id, str(row["name"]), at))
        issuer.states[found] += number
        issuer.newest = max(issuer.newest, at)
    ordered = sorted(issuers.values(), key=lambda each: (-each.states.total(), each.name))
    return InboxDeliveries(lab.now(), tuple(ordered), dict(days))


def export_inbox(lab: Lab, state: IssuerState) -> Rows:
    """Return the number of deliveries for each issuer, day and state."""
    return _compose(state, _EXPORTED).read(lab)


def write_inbox_sql(state: IssuerState) -> str:
    """Write the query of these numbers."""
    return _compose(state, _EXPORTED).to_sql()


def _compose(state: IssuerState, select: str) -> LakeQuery:
    return compose(state, f", {_SENT}\n{select}")


def write_reading(_found: InboxDeliveries, _state: IssuerState) -> str:
    """Write what is counted, and what no one but the recipient knows."""
    return "Deliveries to inboxes. Whether a recipient has read one, only the recipient knows"


def draw_inbox(found: InboxDeliveries, state: IssuerState) -> Markup:
    """Draw the states, the deliveries of each week, and those of each issuer."""
    if not found.issuers:
        why = html("Name a recipient when you mint: <code>lab.mint(..., recipient_email=address)</code>.")
        return widgets.empty("No delivery" if not state.active_filters else "No delivery of these issuers", why)
    return html(
        '<div class="is-inbox"><div>{legend}{chart}</div><div>{table}</div></div>',
        legend=_draw_legend(found),
        chart=_draw_weeks(found),
        table=_draw_issuers(found),
    )


def _draw_legend(found: InboxDeliveries) -> Markup:
    total = found.states.total()
    items = join(
        html(
            '<li><i class="f-{tone}"></i><b>{number}</b> {word} <span class="muted">{share}, {meaning}</span></li>',
            tone=words.tone,
            number=count(found.states[name]),
            word=words.word,
            share=percent(found.states[name], total),
            meaning=words.meaning,
        )
        for name, words in STATES.items()
    )
    return html('<ul class="is-states">{items}</ul>', items=items)


def _draw_weeks(found: InboxDeliveries) -> Markup:
    weeks = list_weeks(found)
    most = max(counts.total() for _, counts in weeks)
    ticks = axes.choose_ticks(most, 3)
    width = axes.WIDTH / len(weeks)
    bars = join(_draw_week(place, *week, width, ticks[-1], found.now) for place, week in enumerate(weeks))
    each = max(1, round(len(weeks) / _TIME_TICKS))
    marks = [
        ((place + 0.5) / len(weeks), day(_midnight(weeks[place][0]), found.now))
        for place in range(each // 2, len(weeks), each)
    ]
    summary = f"Deliveries of each of the last {plural(len(weeks), 'week')}, at most {count(most)}."
    plot = html(
        '<svg class="al-plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="{label}">'
        "{grid}{bars}</svg>",
        label=summary,
        grid=axes.draw_grid(ticks),
        bars=bars,
    )
    start, end = _midnight(weeks[0][0]), _midnight(weeks[-1][0] + _WEEK)
    return html(
        '{lane}{axis}{notes}<p class="al-tip small muted" data-tip-line>{summary}</p>',
        lane=axes.draw_lane(axes.draw_scale(ticks), axes.draw_timed(plot, start, end), "s"),
        axis=axes.draw_marks(marks),
        notes=axes.draw_notes_place(start, end),
        summary=summary,
    )


def list_weeks(found: InboxDeliveries) -> Sequence[tuple[date, Counter[str]]]:
    """List the last weeks until today by their first days, oldest first, with what was delivered in each."""
    end = found.now.astimezone(UTC).date() + timedelta(days=1)
    first = min(found.days, default=end - _WEEK)
    weeks = min(WEEKS, -(-(end - first).days // 7))
    starts = [end - number * _WEEK for number in range(weeks, 0, -1)]
    listed = []
    for start in starts:
        days = (start + timedelta(days=number) for number in range(7))
        listed.append((start, sum((found.days.get(each, Counter()) for each in days), Counter[str]())))
    return listed


def _draw_week(place: int, start: date, counts: Counter[str], width: float, top: float, now: datetime) -> Markup:
    parts = ", ".join(f"{count(counts[name])} {words.word}" for name, words in STATES.items() if counts[name])
    floor, bars = 0.0, []
    for name, words in STATES.items():
        height = axes.HEIGHT * counts[name] / top
        bars.append(axes.draw_rect((place + 0.12) * width, floor, 0.76 * width, height, f"f-{words.tone}"))
        floor += height
    return html(
        '<g class="is-week" data-tip="{tip}">{hit}{bars}</g>',
        tip=f"Week from {day(_midnight(start), now)}: {parts or 'none'}",
        hit=axes.draw_rect(place * width, 0, width, axes.HEIGHT, "al-hit"),
        bars=join(bars),
    )


def _midnight(day_of_year: date) -> datetime:
    return datetime(day_of_year.year, day_of_year.month, day_of_year.day, tzinfo=UTC)


def _draw_issuers(found: InboxDeliveries) -> Markup:
    shown = found.issuers[:MAX_ISSUERS]
    rows = [
        [
            html("{name}", name=each.name),
            html("{number}", number=count(each.states.total())),
            *(html("{number}", number=count(each.states[name])) for name in STATES),
            time_tag(each.newest, found.now),
        ]
        for each in shown
    ]
    keys = [each.issuer_id for each in shown]
    listed = table(_COLUMNS, rows, caption="Deliveries by issuer", keys=keys, row_ev="issuer")
    more = len(found.issuers) - len(shown)
    rest = html('<p class="small muted">and {more} with fewer; the export has all.</p>', more=plural(more, "issuer"))
    return join([listed, rest]) if more else listed


PANE: Final = Pane(
    key="inbox",
    question="What reached recipients",
    reading=write_reading,
    load=load_inbox,
    draw=draw_inbox,
    reads=("status", "tier", "risk", "jurisdiction", "changed", "age_limit"),
    scope=Scope.ATTESTATIONS_READ.value,
    copy_sql=write_inbox_sql,
    export=export_inbox,
    is_common=True,
)
