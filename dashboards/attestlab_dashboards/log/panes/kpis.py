"""The tiles of the newest tree head, and above them examples of real entries to search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards.formats import ago, count, plural, utc
from attestlab_dashboards.log.comparison import COMPARED, Change, load_change
from attestlab_dashboards.log.public_reads import UNSEEN
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.words import shorten_hash, tell_since
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import Kpi, kpi_strip


@dataclass(frozen=True)
class HeadTiles:
    """The newest head with its growth, and examples to search: label and text."""

    change: Change
    examples: tuple[tuple[str, str], ...]


def load_tiles(lab: Lab, state: LogState) -> HeadTiles:
    """Load the newest head, and examples of the tenant's newest attestation, or of the newest entry."""
    return HeadTiles(load_change(lab, state), _make_examples(lab))


def draw_tiles_and_examples(data: HeadTiles, _state: LogState) -> Markup:
    """Draw the examples below the search box, then the tiles."""
    return html(
        '<div class="lg-try"><span>For example</span>{examples}</div>{tiles}',
        examples=join(_draw_example(label, text) for label, text in data.examples),
        tiles=draw_tiles(data.change),
    )


def _make_examples(lab: Lab) -> tuple[tuple[str, str], ...]:
    try:
        newest = next(lab.attestations.list(limit=1), None)
        if newest is not None:
            own = [("index", str(newest.log_index)), ("id", str(newest.id))]
            document = [] if newest.document_hash is None else [("hash", newest.document_hash)]
            return (*own, *document, ("key", newest.kid), ("issuer", lab.issuers[newest.issuer_id].name))
    except UNSEEN:
        pass
    size = len(lab.log)
    return (("index", str(size - 1)), ("hash", lab.log.entry(size - 1).leaf_hash)) if size else ()


def _draw_example(label: str, text: str) -> Markup:
    shown = shorten_hash(text) if len(text) > 40 else f"{text[:8]}…{text[-6:]}" if len(text) == 36 else text
    return html(
        '<button type="button" data-ev="find" data-v="{text}" data-key="find:{label}">{label} {shown}</button>',
        text=text,
        label=label,
        shown=shown,
    )


def draw_tiles(change: Change) -> Markup:
    """Draw what the head of now says: entries and growth, root, age of the signature, witnesses, and the last check."""
    signed = change.signed
    witnesses = len(change.witnesses)
    return kpi_strip(
        (
            Kpi(label="Entries", value=count(change.newer.size), note=_tell_growth(change), rows="entries"),
            Kpi(
                label="Root",
                value=html(
                    '<code class="lg-root" title="{root}">{short}</code>',
                    root=signed.root_hash,
                    short=shorten_hash(change.newer.root),
                ),
                note="SHA-256 over every entry",
                rows="change",
            ),
            Kpi(
                label="Signed", value=draw_age(signed.timestamp, change.now), note=utc(signed.timestamp), rows="change"
            ),
            Kpi(
                label="Witnesses",
                value=count(witnesses),
                note=", ".join(change.witnesses) if witnesses else "no one else cosigned this head",
                rows="change",
            ),
            _make_fsck_tile(change),
        )
    )


def _tell_growth(change: Change) -> str:
    if not change.is_sound:
        return "not proven to have grown only"
    return f"+{count(change.growth)} since {tell_since(change)}"


def _make_fsck_tile(change: Change) -> Kpi:
    """Make the tile of the last check of all records, which is the service's own word."""
    checked = change.signed.last_fsck
    if checked is None:
        return Kpi(label="Last fsck", value="never", note="the service knows of no check")
    problems = html('<b class="lg-wrong">{problems}</b>', problems=plural(checked.problems, "problem"))
    return Kpi(
        label="Last fsck",
        value=html('<span title="{utc}">{age}</span>', utc=utc(checked.at), age=draw_age(checked.at, change.now)),
        note=html(
            "{result}, {checked} of {size}",
            result=problems if checked.problems else "clean",
            checked=count(checked.tree_size),
            size=plural(change.newer.size, "entry", "entries"),
        ),
    )


def draw_age(at: datetime, now: datetime) -> Markup:
    """Draw how long ago something was: a number with a small unit, or "just now" in one size."""
    age = ago(at, now)
    number, _, unit = age.partition(" ")
    return (
        html("{number} <small>{unit}</small>", number=number, unit=unit)
        if number.isdecimal()
        else html("{age}", age=age)
    )


PANE: Final = Pane(
    key="kpis",
    load=load_tiles,
    draw=draw_tiles_and_examples,
    reads=COMPARED,
    is_common=True,
)
