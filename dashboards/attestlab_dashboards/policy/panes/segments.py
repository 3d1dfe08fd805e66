"""Who it hits: flips by segment."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.client.handles.policies import SimulationHandle
from attestlab_dashboards import widgets
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.exports import export_part
from attestlab_dashboards.policy.hits import Hit, draw_hits, draw_no_hits
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay, describe_work, load_replay
from attestlab_dashboards.policy.state import DEFAULT_SEGMENTS, PolicyState
from attestlab_dashboards.policy.words import describe_segment, when_replayed
from attestlab_dashboards.safe import html, join

_CHOICES: Final = (*DEFAULT_SEGMENTS, "assurance_level", "key.status", "status")


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
    drawn = draw_hits(hits, ", ".join(report.by) or "all") if hits else draw_no_hits()
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


PANE: Final = Pane(
    key="segments",
    question="Who does it hit?",
    reading="Flips by segment, newly allowed first",
    span=7,
    load=load_replay,
    draw=draw_segments,
    reads=REPLAY_FIELDS,
    export=export_part("flips"),
    copy_python=copy_simulation,
    is_long=True,
    expects=describe_work,
)
