"""Bars to both sides of a line: how many decisions flip each way, newly allowed ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab_dashboards.formats import count
from attestlab_dashboards.safe import html, join

_SHOWN: Final = 8


class Hit(NamedTuple):
    """A segment or an issuer, and how many of its decisions flip each way."""

    label: Markup
    opened: int
    closed: int


def draw_hits(hits: Sequence[Hit], title: str) -> Markup:
    """Draw bars to both sides of a line: newly denied to the left, newly allowed to the right."""
    shown = [*hits[:_SHOWN]]
    if len(hits) > _SHOWN:
        rest = hits[_SHOWN:]
        others = html("Other, {n} more", n=count(len(rest)))
        shown.append(Hit(others, sum(each.opened for each in rest), sum(each.closed for each in rest)))
    most = max(max(each.opened, each.closed) for each in shown)
    return html(
        '<div class="scroll"><table class="po-hits"><thead>'
        '<tr><th scope="col">{title}</th>'
        '<th scope="col" class="left">ALLOW to DENY</th><th scope="col" class="bad">DENY to ALLOW</th></tr></thead>'
        "<tbody>{rows}</tbody></table></div>",
        title=title,
        rows=join(_draw_hit(each, most) for each in shown),
    )


def _draw_hit(hit: Hit, most: int) -> Markup:
    return html(
        '<tr><th scope="row">{label}</th><td class="left"><span>{closed}</span>'
        '<i class="f-c4" style="width:{left}%"></i></td>'
        '<td class="right"><i class="f-red" style="width:{right}%"></i><span{loud}>{opened}</span></td></tr>',
        label=hit.label,
        closed=count(hit.closed),
        left=f"{70 * hit.closed / most:.1f}",
        right=f"{70 * hit.opened / most:.1f}",
        loud=html(' class="b"') if hit.opened else html(' class="muted"'),
        opened=count(hit.opened),
    )


def draw_no_hits() -> Markup:
    """Draw that nothing flips."""
    return html('<p class="po-none muted">No decision changes.</p>')
