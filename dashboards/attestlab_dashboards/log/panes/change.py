"""Did the log change? Two heads over the same blocks: old ones rebuild the old root, all of them the new one."""

from __future__ import annotations

from math import log2
from typing import Final

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.core.errors import NotFound
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.log.comparison import (
    COMPARED,
    Change,
    ComparisonResult,
    Head,
    explain_comparison,
    load_change,
    remember_head,
)
from attestlab_dashboards.log.merkle_layout import Block
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.words import download, name_older_head, shorten_hash
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import Tone, button, empty, hint, pill


def copy_proof_python(state: LogState) -> str:
    """Compose the comparison of two heads."""
    if state.kept is None:
        return "older = next(lab.log.checkpoints())  # or a head that you kept\nlab.log.consistency(older)"
    size, root = state.kept
    return f"proof = lab.log.consistency({size})\nassert proof.from_root == {f'sha256:{root}'!r}"


class BlockRow(BaseModel):
    """A subtree of a consistency proof; it covers the entries `first` up to `end` (left out).

    `head` is `older` for those of which the older head's root is computed; the newer one's is computed of all.
    """

    head: str
    first: int
    end: int
    hash: str


def export_change(lab: Lab, state: LogState) -> Records[BlockRow]:
    """Export the hashes that prove that the newer tree begins with the older one.

    Raises:
        NotFound: there is no such proof.
    """
    change = load_change(lab, state)
    if not change.blocks:
        raise NotFound("proof that the log", f"of {change.newer.size} entries continues that of {change.older.size}")
    rows = (
        BlockRow(head="older" if each.is_old else "newer", first=each.first, end=each.end, hash=each.hash.hex())
        for each in change.blocks
    )
    return Records(rows, BlockRow)


_GAP: Final = 4.0
_BLOCK_Y, _BLOCK_HEIGHT = 186.0, 30.0
_HEAD_HEIGHT: Final = 46.0
_WORDS: Final[dict[ComparisonResult, tuple[str, Tone, str]]] = {
    ComparisonResult.GREW: ("no, it only grew", "good", "check"),
    ComparisonResult.SAME: ("no, it is the same", "good", "check"),
    ComparisonResult.FORKED: ("yes, it is another log", "bad", "cross"),
    ComparisonResult.ROLLED_BACK: ("yes, entries are missing", "bad", "cross"),
    ComparisonResult.UNPROVEN: ("not proven", "bad", "warn"),
}


def draw_change(change: Change, _state: LogState) -> Markup:
    """Draw both heads, what their comparison says, and what one can keep of it."""
    if not change.newer.size:
        return empty("The log is empty", "There is nothing to compare until its first entry.")
    word, tone, glyph = _WORDS[change.outcome]
    return html(
        '<div class="lg-said">{pill}</div>{explained}{drawing}{cosigners}'
        '<div class="lg-actions">{keep}{again}{download}</div>',
        pill=pill(word, tone, glyph),
        explained=_explain_outcome(change),
        drawing=_draw_both_widths(change) if change.blocks else NOTHING,
        cosigners=_draw_cosigners(change),
        keep=_draw_keep(change),
        again=button("Look again", ev="look"),
        download=download("Checkpoint", f"checkpoint-{change.newer.size}.txt", change.signed.checkpoint.encode()),
    )


def _draw_cosigners(change: Change) -> Markup:
    """Name the witnesses of the head of now, whose signatures its checkpoint has."""
    names = ", ".join(change.witnesses)
    words = f"Cosigned by {names}: their signatures are in the checkpoint." if names else "No witness cosigned it."
    return html('<p class="muted small">{words}</p>', words=words)


def _draw_keep(change: Change) -> Markup:
    if change.seen_at is not None and not change.is_sound:
        seen = button(
            "Keep the head that you saw in this link", ev="keep", v=f"{change.older.size}.{change.older.root}"
        )
        return join([seen, html('<button type="button" class="btn sm" data-forget>Forget it in this browser</button>')])
    head = f"{change.newer.size}.{change.newer.root}"
    if change.is_kept and change.seen_at is None and change.outcome is ComparisonResult.SAME:
        return html('<span class="muted small">This link carries the head of now.</span>')
    return button("Keep the head of now in this link", ev="keep", v=head)


def _explain_outcome(change: Change) -> Markup:
    old, new = change.older, change.newer
    match change.outcome:
        case ComparisonResult.FORKED:
            return html(
                '<p class="lg-alarm">You saw root <code>{kept}</code> for {old}; the log now proves '
                "<code>{proven}</code>. Two roots of one size cannot both be true: keep that head, and ask the "
                "operator.</p>",
                kept=shorten_hash(old.root),
                old=plural(old.size, "entry", "entries"),
                proven=shorten_hash(change.proven_root),
            )
        case ComparisonResult.ROLLED_BACK:
            return html(
                '<p class="lg-alarm">You saw {old}, and the log shows {new}. A log that only grows '
                "never has fewer: keep that head, and ask the operator.</p>",
                old=plural(old.size, "entry", "entries"),
                new=count(new.size),
            )
        case ComparisonResult.UNPROVEN:
            return html('<p class="lg-alarm">{detail}</p>', detail=change.detail)
    return NOTHING


def _draw_both_widths(change: Change) -> Markup:
    old = sum(block.is_old for block in change.blocks)
    added = len(change.blocks) - old
    return html(
        '{wide}{narrow}<p class="lg-legend"><span><i class="lg-dot lg-old"></i>{old} {old_noun} the old root</span>'
        "{added}</p>"
        '<p class="lg-tip" data-tip-line aria-live="polite">{hint}</p>',
        wide=_draw_heads(change, 640.0, "lg-wide"),
        narrow=_draw_heads(change, 340.0, "lg-narrow"),
        hint=hint("Point at a block to read its hash.", "Tap a block to read its hash."),
        old=old,
        old_noun="block rebuilds" if old == 1 else "blocks rebuild",
        added=html(
            '<span><i class="lg-dot lg-new"></i>{n} more rebuild{s} the new one</span>',
            n=added,
            s="s" if added == 1 else "",
        )
        if added
        else NOTHING,
    )


def _draw_heads(change: Change, width: float, css: str) -> Markup:
    places = _place_blocks(change.blocks, width)
    old_x = _middle([place for block, place in zip(change.blocks, places, strict=True) if block.is_old])
    new_x = _middle([place for block, place in zip(change.blocks, places, strict=True) if not block.is_old])
    half = 122.0 if width > 500 else 84.0
    old_x = min(max(old_x, half + 1), width - half - 1)
    new_x = min(max(new_x, half + 1), width - half - 1)
    is_same = change.outcome is ComparisonResult.SAME
    top, low = 4.0, 92.0
    return html(
        '<svg class="lg-draw {css}" viewBox="0 {from_y} {width} {height}" role="group" aria-label="{label}">'
        "{links}{blocks}{old}{new}"
        '<text class="lg-m" x="0" y="238">entry 0</text>{split}'
        '<text class="lg-m" x="{width}" y="238" text-anchor="end">{last}</text></svg>',
        css=css,
        width=f"{width:g}",
        from_y="84" if is_same else "0",
        height="160" if is_same else "244",
        label=_label_heads(change),
        links=join(
            [
                *_draw_links(change.blocks, places, old_x, low + _HEAD_HEIGHT, new_x, top + _HEAD_HEIGHT),
                NOTHING if is_same else _join_heads(old_x, low, new_x - half, new_x + half, top + _HEAD_HEIGHT / 2),
            ]
        ),
        blocks=join(_draw_block(block, place) for block, place in zip(change.blocks, places, strict=True)),
        old=_draw_head("Head of " + name_older_head(change), change.older, old_x, low, half, "lg-box"),
        new=NOTHING if is_same else _draw_head("Head of now", change.newer, new_x, top, half, "lg-box lg-grown"),
        split=_draw_split(change, places),
        last=count(change.newer.size - 1),
    )


def _label_heads(change: Change) -> str:
    sizes = f"{plural(change.older.size, 'old entry', 'old entries')} and {plural(change.growth, 'new one')}"
    return f"{sizes}; both roots follow from {plural(len(change.blocks), 'block')}."


def _place_blocks(blocks: tuple[Block, ...], width: float) -> list[tuple[float, float]]:
    """Return left edge and width of each block: wider for more entries, but none too narrow to see."""
    weights = [2.2 + log2(block.end - block.first) for block in blocks]
    unit = (width - _GAP * (len(blocks) - 1)) / sum(weights)
    places, left = [], 0.0
    for weight in weights:
        places.append((left, weight * unit))
        left += weight * unit + _GAP
    return places


def _middle(places: list[tuple[float, float]]) -> float:
    return (places[0][0] + places[-1][0] + places[-1][1]) / 2 if places else 0.0


def _draw_links(
    blocks: tuple[Block, ...], places: list[tuple[float, float]], old_x: float, old_y: float, new_x: float, new_y: float
) -> list[Markup]:
    links = []
    for block, (left, width) in zip(blocks, places, strict=True):
        x, y, css = (old_x, old_y, "lg-lo") if block.is_old else (new_x, new_y, "lg-ln")
        end, bend = left + width / 2, (y + _BLOCK_Y) / 2
        curve = f"M{x:.1f} {y:.1f}C{x:.1f} {bend:.1f} {end:.1f} {bend:.1f} {end:.1f} {_BLOCK_Y:.1f}"
        links.append(html('<path class="{css}" d="{curve}"/>', css=css, curve=curve))
    return links


def _join_heads(old_x: float, old_y: float, left: float, right: float, y: float) -> Markup:
    """Draw that the new root is built on the old blocks too."""
    if left <= old_x <= right:
        curve = f"M{old_x:.1f} {old_y:.1f}V{y + _HEAD_HEIGHT / 2:.1f}"
    else:
        edge = left if old_x < left else right
        curve = f"M{old_x:.1f} {old_y:.1f}V{y:.1f}H{edge:.1f}"
    return html('<path class="lg-ln" d="{curve}"/>', curve=curve)


def _draw_block(block: Block, place: tuple[float, float]) -> Markup:
    left, width = place
    tip = f"{_name_range(block.first, block.end)}: sha256:{block.hash.hex()}"
    return html(
        '<g tabindex="0" role="img" aria-label="{tip}" data-tip="{tip}">'
        '<rect class="{css}" x="{x}" y="{y}" width="{width}" height="{height}" rx="3"/></g>',
        tip=tip,
        css="lg-old" if block.is_old else "lg-new",
        x=f"{left:.1f}",
        y=f"{_BLOCK_Y:g}",
        width=f"{width:.1f}",
        height=f"{_BLOCK_HEIGHT:g}",
    )


def _name_range(first: int, end: int) -> str:
    return f"entry {count(first)}" if end == first + 1 else f"entries {count(first)} to {count(end - 1)}"


def _draw_head(title: str, head: Head, x: float, y: float, half: float, css: str) -> Markup:
    size = f", {plural(head.size, 'entry', 'entries')}" if half > 100 else f", {count(head.size)}"
    return html(
        '<g><rect class="{css}" x="{left}" y="{y}" width="{width}" height="{height}" rx="6"/>'
        '<text class="lg-b" x="{x}" y="{line}" text-anchor="middle">{title}</text>'
        '<text class="lg-mo" x="{x}" y="{second}" text-anchor="middle">{root}</text></g>',
        css=css,
        left=f"{x - half:.1f}",
        y=f"{y:g}",
        width=f"{2 * half:g}",
        height=f"{_HEAD_HEIGHT:g}",
        x=f"{x:.1f}",
        line=f"{y + 19:g}",
        second=f"{y + 36:g}",
        title=title + size,
        root=shorten_hash(head.root),
    )


def _draw_split(change: Change, places: list[tuple[float, float]]) -> Markup:
    first = next((place for block, place in zip(change.blocks, places, strict=True) if not block.is_old), None)
    if first is None:
        return NOTHING
    return html(
        '<text class="lg-m" x="{x}" y="238" text-anchor="middle">{n}</text>',
        x=f"{first[0]:.1f}",
        n=count(change.older.size),
    )


PANE: Final = Pane(
    key="change",
    question="Did the log change?",
    reading=explain_comparison,
    span=7,
    load=load_change,
    draw=draw_change,
    reads=COMPARED,
    copy_python=copy_proof_python,
    export=export_change,
    remember=remember_head,
    is_common=True,
)
