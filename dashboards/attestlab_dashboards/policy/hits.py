"""Who it hits: flips by segment and by issuer, as bars to both sides, newly allowed ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab.client.handles.policies import SimulationHandle
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count
from attestlab_dashboards.policy.history import FlipHistory
from attestlab_dashboards.policy.queries import DraftReplay
from attestlab_dashboards.policy.state import DEFAULT_SEGMENTS, PolicyState
from attestlab_dashboards.policy.summary import Summary
from attestlab_dashboards.policy.words import describe_segment, draw_if_missing, when_replayed
from attestlab_dashboards.safe import NOTHING, html, join, path

_SHOWN: Final = 8
_CHOICES: Final = (*DEFAULT_SEGMENTS, "assurance_level", "key.status", "status")


class Hit(NamedTuple):
    """A segment or an issuer, and how many of its decisions flip each way."""

    label: Markup
    opened: int
    closed: int


@when_replayed
def draw_segments(data: DraftReplay, state: PolicyState) -> Markup:
    """Draw the flips by the chosen attributes."""
    report = data.report
    assert report is not None, "`when_replayed` draws nothing else"
    chips = join(
        widgets.chip(name, ev="segment", v=name, pressed=name in state.by)
        for name in dict.fromkeys((*state.by, *_CHOICES))
    )
    hits = list_segments(report)
    drawn = draw_hits(hits, ", ".join(report.by) or "all") if hits else _draw_none()
    return html(
        '<div class="chips po-by" role="group" aria-label="Segment by">{chips}</div>{drawn}', chips=chips, drawn=drawn
    )


def list_segments(report: SimulationHandle) -> list[Hit]:
    """List the segments, those with the most newly allowed decisions first."""
    found: dict[str, list[int]] = {}
    for each in report.flips:
        counts = found.setdefault(describe_segment(each.segments), [0, 0])
        counts[each.to == "DENY"] += each.count
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
    return [Hit(html("{name}", name=name), opened, closed) for name, (opened, closed) in ordered]


def draw_issuers(data: Summary, _state: PolicyState) -> Markup:
    """Draw the flips by issuer, where the decisions name one."""
    missing = draw_if_missing(data.replay)
    if missing is not None:
        return missing
    if data.history is None:
        why = "They cannot be counted by issuer: there are too many different contexts, or you may not read issuers."
        return html('<p class="po-none muted">{why}</p>', why=why)
    hits = list_issuers(data.history)
    if not hits and (data.replay.about.document or {}).get("target_type") == "VERIFICATION_PROFILE":
        why = "A decision under a verification profile stores its values, and not which issuer they are about."
        return html('<p class="po-none muted">{why} Segments show whom it hits.</p>', why=why)
    if not hits:
        return _draw_none()
    total, report = data.history.total, data.replay.report
    is_alone = report is not None and (total.opened, total.closed) == (report.newly_allowed, report.newly_denied)
    alone = html('<p class="sub">By this policy alone; other policies in force decide as well.</p>')
    return html("{hits}{alone}", hits=draw_hits(hits, "issuer"), alone=NOTHING if is_alone else alone)


def list_issuers(history: FlipHistory) -> list[Hit]:
    """List the issuers, those with the most newly allowed decisions first."""
    return [
        Hit(
            html('<a href="issuers?issuer={id}">{name}</a>', id=path(issuer_id), name=name),
            flips.opened,
            flips.closed,
        )
        for issuer_id, name, flips in history.by_issuer
    ]


def draw_hits(hits: Sequence[Hit], title: str) -> Markup:
    """Draw bars to both sides of a line: newly denied to the left, newly allowed to the right."""
    shown = [*hits[:_SHOWN]]
    if len(hits) > _SHOWN:
        rest = hits[_SHOWN:]
        others = html("Other, {n} more", n=count(len(rest)))
        shown.append(Hit(others, sum(each.opened for each in rest), sum(each.closed for each in rest)))
    most = max(max(each.opened, each.closed) for each in shown)
    return html(
        '<div class="scroll" tabindex="0" role="group" aria-label="Flips by {title}"><table class="po-hits"><thead>'
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


def _draw_none() -> Markup:
    return html('<p class="po-none muted">No decision changes.</p>')
