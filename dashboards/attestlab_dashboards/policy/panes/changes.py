"""All decisions that the draft changes, in pages; who activates a version sees them before they confirm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.core.errors import NotFound, PermissionDenied
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, short_id, utc
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.documents import list_attributes
from attestlab_dashboards.policy.exports import require_report
from attestlab_dashboards.policy.history import compose_rows, decide, list_issuers, read_table
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay, describe_work, find_window, load_replay
from attestlab_dashboards.policy.shared_loads import share
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import draw_if_missing, draw_select, effect_pill
from attestlab_dashboards.safe import NOTHING, html, join, path

MAX_ROWS: Final = 200_000  # that this process decides again; beyond it the page has examples alone
_CHOICES: Final = {"": "All", "denied": "Newly denied", "allowed": "Newly allowed"}


class ChangedDecision(NamedTuple):
    """A decision, or a mint that no policy decided, that the draft decides the other way."""

    id: str
    at: datetime
    issuer_id: str
    is_allowed: bool  # by the draft


class Changes(NamedTuple):
    """The replay, all changed decisions, newest first, and the names of issuers; None if there are too many to list."""

    replay: DraftReplay
    rows: Sequence[ChangedDecision] | None
    names: Mapping[str, str]

    def select(self, chosen: str, issuer_id: str = "") -> Sequence[ChangedDecision]:
        """Select all, the newly denied or the newly allowed ones, about one issuer if one is given."""
        return [
            each
            for each in self.rows or ()
            if (not chosen or each.is_allowed == (chosen == "allowed")) and issuer_id in ("", each.issuer_id)
        ]

    def count_by_issuer(self, chosen: str) -> Sequence[tuple[str, str, int]]:
        """Count the chosen ones by issuer, the most first: id, name and number of each."""
        counts = Counter(each.issuer_id for each in self.select(chosen) if each.issuer_id in self.names)
        return [(issuer_id, self.names[issuer_id], number) for issuer_id, number in counts.most_common()]


def load_changes(lab: Lab, state: PolicyState) -> Changes:
    """Load all decisions that the text changes."""
    replay = load_replay(lab, state)
    key = ("changes", *(getattr(state, name) for name in REPLAY_FIELDS))
    return share(lab).get(key, lambda: _load_changes(lab, state, replay))


def _load_changes(lab: Lab, state: PolicyState, replay: DraftReplay) -> Changes:
    about = replay.about
    if replay.report is None or about.document is None:
        return Changes(replay, None, {})
    paths = list_attributes(about.document, about.active)
    rows, values = compose_rows(about.document, paths, find_window(lab, state))
    try:
        found = read_table(lab, f"{rows} order by created_at desc, id limit {MAX_ROWS + 1}", values, state.run)
    except PermissionDenied:
        return Changes(replay, None, {})
    if not 0 < found.num_rows <= MAX_ROWS:
        return Changes(replay, None if found.num_rows else (), {})
    names = load_issuer_names(lab, list_issuers(found))
    before, after = decide(lab, about, found, paths, state.run)
    columns = (found[name].to_pylist() for name in ("id", "created_at", "issuer_id"))
    decided = zip(*columns, before, after, strict=True)
    changed = [
        ChangedDecision(str(id), at, str(issuer or ""), now) for id, at, issuer, was, now in decided if was != now
    ]
    return Changes(replay, changed, names)


def draw_changes(data: Changes, state: PolicyState) -> Markup:
    """Draw a page of the changed decisions with the choice of which."""
    missing = draw_if_missing(data.replay)
    if missing is not None:
        return missing
    if data.rows is None:
        why = "They cannot be listed: there are over 200,000 decisions, or you may not read attestations or issuers."
        return html('<p class="po-none muted">{why}</p>', why=why)
    chosen = data.select(state.changed, state.changed_for)
    pages = max(1, -(-len(chosen) // widgets.SHORT_PAGE_ROWS))
    page = min(state.changes_page, pages)
    shown = chosen[widgets.SHORT_PAGE_ROWS * (page - 1) :][: widgets.SHORT_PAGE_ROWS]
    return html(
        '<div class="chips" role="group" aria-label="Changed decisions">{chips}{issuers}{download}</div>'
        "{table}{pager}{alone}",
        chips=join(_draw_choice(value, words, data, state) for value, words in _CHOICES.items()),
        issuers=_draw_issuers(data, state),
        download=_draw_download(state),
        table=_draw_table(shown, data) if shown else html('<p class="po-none muted">No decision changes.</p>'),
        pager=widgets.pager(page, pages, ev="changes_page"),
        alone=_draw_others(data),
    )


def _draw_choice(value: str, words: str, data: Changes, state: PolicyState) -> Markup:
    number = count(len(data.select(value, state.changed_for)))
    return widgets.chip(f"{words} {number}", ev="changed", v=value, pressed=value == state.changed)


def _draw_issuers(data: Changes, state: PolicyState) -> Markup:
    """Draw the choice of an issuer, where the decisions name any."""
    issuers = data.count_by_issuer(state.changed)
    if not issuers and not state.changed_for:
        return NOTHING
    choices = [(issuer_id, f"{name} ({count(number)})") for issuer_id, name, number in issuers]
    if state.changed_for not in ("", *(issuer_id for issuer_id, _, _ in issuers)):
        choices.append((state.changed_for, f"{data.names.get(state.changed_for, 'another issuer')} (0)"))
    return draw_select("Issuer", "changed_for", [("", "all"), *choices], state.changed_for)


def _draw_download(state: PolicyState) -> Markup:
    """Draw the link that saves the chosen ones in the dialog, which covers the export of the pane."""
    if state.dialog != "activate":
        return NOTHING
    query = urlencode({**state.change().to_query(), "pane": "changes", "format": "csv"})
    return html(
        '<a class="btn sm" href="policy/export?{query}" download>{icon}CSV</a>',
        query=query,
        icon=icons.draw("download"),
    )


def _draw_table(shown: Sequence[ChangedDecision], data: Changes) -> Markup:
    columns = (
        widgets.TableColumn("Decision"),
        widgets.TableColumn("Made", phone=False),
        widgets.TableColumn("Issuer"),
        widgets.TableColumn("Before, after"),
    )
    rows = [
        [
            short_id(each.id),
            html("{at}", at=utc(each.at)),
            html('<a href="issuers?issuer={id}">{name}</a>', id=path(each.issuer_id), name=data.names[each.issuer_id])
            if each.issuer_id in data.names
            else html('<span class="muted">none</span>'),
            html(
                '<span class="nw">{before} <span aria-hidden="true">→</span> <span class="al-hidden">then</span>{after}'
                "</span>",
                before=effect_pill("DENY" if each.is_allowed else "ALLOW"),
                after=effect_pill("ALLOW" if each.is_allowed else "DENY"),
            ),
        ]
        for each in shown
    ]
    return widgets.table(columns, rows, caption="Changed decisions", keys=[each.id for each in shown])


def _draw_others(data: Changes) -> Markup:
    report = data.replay.report
    if report is None or len(data.select("")) == report.newly_allowed + report.newly_denied:
        return NOTHING
    return html('<p class="sub">By this policy alone; other policies in force decide as well.</p>')


class ChangeRow(BaseModel):
    """A decision that the text decides the other way; `id` is that of the mint if no policy decided it."""

    id: str
    created_at: datetime
    issuer_id: str
    issuer: str
    before: str
    after: str


def export_changes(lab: Lab, state: PolicyState) -> Records[ChangeRow]:
    """Export the chosen changed decisions, all of them.

    Raises:
        NotFound: they cannot be listed.
    """
    require_report(lab, state)
    data = load_changes(lab, state)
    if data.rows is None:
        raise NotFound("changes", "of these decisions")
    words = {True: "ALLOW", False: "DENY"}
    rows = (
        ChangeRow(
            id=each.id,
            created_at=each.at,
            issuer_id=each.issuer_id,
            issuer=data.names.get(each.issuer_id, ""),
            before=words[not each.is_allowed],
            after=words[each.is_allowed],
        )
        for each in data.select(state.changed, state.changed_for)
    )
    return Records(rows, ChangeRow)


PANE: Final = Pane(
    key="changes",
    question="All decisions that would change",
    reading="Before: by the active version. Newest first; the download has all of them",
    load=load_changes,
    draw=draw_changes,
    reads=REPLAY_FIELDS,
    export=export_changes,
    copy_python=copy_simulation,
    is_long=True,
    expects=describe_work,
)
