"""Drawn parts that the pages share: pills, tiles, chips, buttons, tables, pagers and empty states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeVar

from markupsafe import Markup

from attestlab_dashboards import icons
from attestlab_dashboards.formats import count
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.sparklines import draw_sparkline

R = TypeVar("R")
Tone = Literal["good", "warn", "bad", "calm", "info"]
SHORT_PAGE_ROWS: Final = 10  # of a table among other cards
MAX_COLUMNS: Final = 12


@dataclass(frozen=True, kw_only=True)
class Kpi:
    """A tile of the KPI strip: a label, a value with its note, and the values of its sparkline, oldest first.

    `times` are the words of the values' times, which the tips of its line show. With `rows`, the key of a pane, its
    label is a button that shows the rows of the number there: it sends the event `ev` with `v`, if there is one, and
    moves the focus to the pane.
    """

    label: str
    value: str | Markup
    note: str | Markup = ""
    values: Sequence[float] = ()
    times: Sequence[str] = ()
    tone: Tone = "calm"
    rows: str = ""
    ev: str = ""
    v: str = ""


def part_of(part: int, whole: int) -> Markup:
    """Draw a number and what it is a part of."""
    return html("{part} <small>of {whole}</small>", part=count(part), whole=count(whole))


class TableColumn(NamedTuple):
    """A column of a table. `phone` is false if phones leave it out; `sort` is the value that a click sends to sort.

    A title that `is_spoken_only` is for screen readers, which read it with each cell. What `is_for_desks` is left out
    by tablets, too.
    """

    title: str
    align: Literal["left", "right"] = "left"
    phone: bool = True
    sort: str = ""
    is_spoken_only: bool = False
    is_for_desks: bool = False


def long_text(value: object) -> Markup:
    """Draw what a person wrote at length: it wraps, and is cut after four lines; its tip has all of it."""
    return html('<span class="al-long">{value}</span>', value=value)


def pill(word: str, tone: Tone, glyph: str) -> Markup:
    """Draw a state: an icon and a word on a tint."""
    return html('<span class="pill {tone}">{icon}{word}</span>', tone=tone, icon=icons.draw(glyph), word=word)


def kpi_strip(tiles: Sequence[Kpi]) -> Markup:
    """Draw tiles next to each other."""
    return html('<div class="kpis">{tiles}</div>', tiles=join(_tile(tile) for tile in tiles))


def chip(label: str | Markup, *, ev: str, v: str, pressed: bool, removable: bool = False) -> Markup:
    """Draw a filter that a click sets or removes."""
    return html(
        '<button type="button" class="chip{x}" data-ev="{ev}" data-v="{v}" data-key="{ev}:{v}" aria-pressed="{on}">'
        '<span class="al-line">{label}</span></button>',
        x=" x" if removable else "",
        ev=ev,
        v=v,
        on="true" if pressed else "false",
        label=label,
    )


def set_filters(filters: Iterable[tuple[str, str | Markup]]) -> Markup:
    """Draw the filters that are set, by name and words: each has a cross that drops it, and Reset drops them all."""
    chips = [chip(words, ev="clear", v=name, pressed=True, removable=True) for name, words in filters]
    return join([*chips, chip("Reset", ev="clear", v="all", pressed=False, removable=True)]) if chips else NOTHING


def button(
    label: str | Markup, *, ev: str, v: str = "", primary: bool = False, disabled_because: str = "", icon: str = ""
) -> Markup:
    """Draw a button. With `disabled_because` it does nothing, and its tip says why."""
    return html(
        '<button type="button" class="btn sm{primary}" data-ev="{ev}" data-v="{v}" data-key="{ev}:{v}"{off}>'
        '{icon}<span class="al-line">{label}</span></button>',
        primary=" primary" if primary else "",
        ev=ev,
        v=v,
        off=disable(disabled_because),
        icon=icons.draw(icon) if icon else NOTHING,
        label=label,
    )


def disable(why: str) -> Markup:
    """Draw the attributes of a button that does nothing, with its reason; none without a reason.

    The Tab key and a finger reach it, because its tip has the reason; they never reach a `disabled` one.
    """
    return html(' aria-disabled="true" aria-description="{why}" data-tip="{why}"', why=why) if why else NOTHING


def table(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Markup]],
    *,
    caption: str,
    keys: Sequence[str],
    row_ev: str = "",
    sorted_by: str = "",
    sort_ev: str = "sort",
    marks: Sequence[str] = (),
) -> Markup:
    """Draw a page of rows, at most twelve columns wide.

    Each row has its key from `keys`. With `row_ev`, the first cell is a button that sends the key: it opens the row.
    Where several rows may have one key, `marks` distinguish them.
    A title with `sort` is a button that sends it; `sorted_by` is that value, with "-" in front if descending.
    """
    head = join(_title(column, sorted_by, sort_ev) for column in columns[:MAX_COLUMNS])
    body = join(_row(columns, row, key, mark, row_ev) for row, key, mark in zip(rows, keys, marks or keys, strict=True))
    return html(
        '<div class="scroll"><table class="t">'
        '<caption class="al-hidden">{caption}</caption><thead><tr>{head}</tr></thead>'
        "<tbody>{body}</tbody></table></div>",
        caption=caption,
        head=head,
        body=body,
    )


def paged_table(
    columns: Sequence[TableColumn],
    found: Sequence[R],
    draw_row: Callable[[R], Sequence[Markup]],
    *,
    page: int,
    page_ev: str,
    caption: str,
    key_of: Callable[[R], str],
    mark_of: Callable[[R], str] | None = None,
    row_ev: str = "",
    sorted_by: str = "",
    sort_ev: str = "sort",
) -> Markup:
    """Draw a page of what was found, at most ten rows, and the pager; a page after the last one is the last one."""
    pages = count_pages(len(found))
    page = min(page, pages)
    shown = found[(page - 1) * SHORT_PAGE_ROWS : page * SHORT_PAGE_ROWS]
    listed = table(
        columns,
        [draw_row(each) for each in shown],
        caption=caption,
        keys=[key_of(each) for each in shown],
        marks=[mark_of(each) for each in shown] if mark_of else (),
        row_ev=row_ev,
        sorted_by=sorted_by,
        sort_ev=sort_ev,
    )
    return join([listed, pager(page, pages, ev=page_ev)])


def option_list(choices: Iterable[tuple[str, str | Markup]], chosen: str = "") -> Markup:
    """Draw the options of a list to choose from, each with its value and its words."""
    return join(
        html(
            '<option value="{value}"{selected}>{words}</option>',
            value=value,
            selected=html(" selected") if value == chosen else NOTHING,
            words=words,
        )
        for value, words in choices
    )


def count_pages(rows: int, page_rows: int = SHORT_PAGE_ROWS) -> int:
    """Return the number of pages of a table with these rows, at least one."""
    return max(1, -(-rows // page_rows))


def pager(page: int, pages: int, *, ev: str) -> Markup:
    """Draw the pager of a table; `page` counts from 1. One page needs none."""
    if pages <= 1:
        return NOTHING
    first = max(1, min(page - 2, pages - 4))
    numbers = [_page_button(str(n), n, ev, current=n == page) for n in range(first, min(first + 5, pages + 1))]
    return html(
        '<div class="al-pager" role="group" aria-label="Pages">{first}{previous}{numbers}{next}{last}'
        '<span class="muted small">of {pages}</span></div>',
        first=_page_button("First", 1, ev, off=page == 1),
        previous=_page_button("Prev", page - 1, ev, off=page == 1),
        numbers=join(numbers),
        next=_page_button("Next", page + 1, ev, off=page == pages),
        last=_page_button("Last", pages, ev, off=page == pages),
        pages=count(pages),
    )


def hint(pointer: str, touch: str) -> Markup:
    """Draw what one can do with a chart: in words for a pointer and keys, or for a finger."""
    return html(
        '<span class="al-pointer">{pointer}</span><span class="al-touch">{touch}</span>', pointer=pointer, touch=touch
    )


def empty(headline: str, why: str | Markup, buttons: Markup = NOTHING) -> Markup:
    """Draw what stands where nothing was found: what, why, and the way back."""
    return state("inbox", "", headline, html("{why}", why=why), buttons)


def state(icon: str, tone: str, headline: str, why: Markup, buttons: Markup = NOTHING) -> Markup:
    """Draw a state of a pane in its middle."""
    return html(
        '<div class="state"><span class="ic {tone}">{icon}</span><h3>{headline}</h3><p>{why}</p>'
        '<div class="go">{buttons}</div></div>',
        tone=tone,
        icon=icons.draw(icon),
        headline=headline,
        why=why,
        buttons=buttons,
    )


def share_bar(share: float, tone: str) -> Markup:
    """Draw a share from 0 to 1 as a bar; `tone` is a colour of the charts: c0 to c4, green, amber or red."""
    width = f"{100 * min(1.0, max(0.0, share)):.1f}"
    return html('<span class="bar"><i class="f-{tone}" style="width:{width}%"></i></span>', tone=tone, width=width)


def _tile(tile: Kpi) -> Markup:
    return html(
        '<div class="kpi"><div class="l">{label}</div><div class="v">{value}</div><div class="d">{note}</div>'
        "{line}</div>",
        label=_draw_label(tile),
        value=tile.value,
        note=tile.note,
        line=draw_sparkline(tile.label, tile.values, tile.times, tile.tone) if len(tile.values) > 1 else NOTHING,
    )


def _draw_label(tile: Kpi) -> Markup:
    if not tile.rows:
        return html("{label}", label=tile.label)
    return html(
        '<button type="button" class="al-rows" data-rows="{rows}" data-key="rows:{label}"{event}>{label}</button>',
        rows=tile.rows,
        label=tile.label,
        event=html(' data-ev="{ev}" data-v="{v}"', ev=tile.ev, v=tile.v) if tile.ev else NOTHING,
    )


def _title(column: TableColumn, sorted_by: str, sort_ev: str) -> Markup:
    css = _cell_class(column)
    if not column.sort:
        title = html('<span class="al-hidden">{title}</span>', title=column.title) if column.is_spoken_only else None
        return html('<th scope="col"{css}>{title}</th>', css=css, title=title or column.title)
    is_down, is_up = sorted_by == f"-{column.sort}", sorted_by == column.sort
    return html(
        '<th scope="col"{css} aria-sort="{order}"><button type="button" class="al-sort" data-ev="{ev}" data-v="{v}" '
        'data-key="{ev}:{name}">{title}{arrow}</button></th>',
        css=css,
        order="descending" if is_down else "ascending" if is_up else "none",
        ev=sort_ev,
        v=column.sort if is_down else f"-{column.sort}",
        name=column.sort,
        title=column.title,
        arrow=icons.draw("down" if is_down else "up") if is_down or is_up else NOTHING,
    )


def _row(columns: Sequence[TableColumn], cells: Sequence[Markup], key: str, mark: str, row_ev: str) -> Markup:
    shown = [_cut(column, cell) for column, cell in zip(columns[:MAX_COLUMNS], cells[:MAX_COLUMNS], strict=True)]
    if row_ev:
        shown[0] = html(
            '<button type="button" class="al-open" data-ev="{ev}" data-v="{key}" data-key="{ev}:{mark}">{cell}'
            "</button>",
            ev=row_ev,
            key=key,
            mark=mark,
            cell=shown[0],
        )
    drawn = join(
        html("<td{css}>{cell}</td>", css=_cell_class(column), cell=cell)
        for column, cell in zip(columns[:MAX_COLUMNS], shown, strict=True)
    )
    return html('<tr data-row="{key}">{cells}</tr>', key=key, cells=drawn)


def _cut(column: TableColumn, cell: Markup) -> Markup:
    """Let words of a cell wrap, up to the lines after which they are cut; numbers stay whole."""
    return cell if column.align == "right" else html('<span class="al-cut">{cell}</span>', cell=cell)


def _cell_class(column: TableColumn) -> Markup:
    is_left_out = [name for name, out in (("opt", not column.phone), ("al-desk", column.is_for_desks)) if out]
    names = [*(["num"] if column.align == "right" else []), *is_left_out]
    return html(' class="{names}"', names=" ".join(names)) if names else NOTHING


def _page_button(label: str, page: int, ev: str, *, current: bool = False, off: bool = False) -> Markup:
    return html(
        '<button type="button" data-ev="{ev}" data-v="{page}" data-key="{ev}:{label}"{current}{off}>{label}</button>',
        ev=ev,
        page=page,
        label=label,
        current=html(' aria-current="page"') if current else NOTHING,
        off=html(" disabled") if off else NOTHING,
    )
