"""Which text is compared with which, the self-check, and the tiles."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.client.handles.policies import SimulationHandle
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, day, percent, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.history import FlipHistory, Flips, Summary, load_summary
from attestlab_dashboards.policy.notation import MAX_ADDRESS_CHARS, NEW_POLICY
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import NOUNS, draw_select
from attestlab_dashboards.safe import NOTHING, html


def draw_summary(data: Summary, state: PolicyState) -> Markup:
    """Draw which text is compared with which, the self-check, and the tiles."""
    report = data.replay.report
    tiles = NOTHING if report is None else _draw_tiles(data, report)
    return html(
        '<div class="chips po-compare">{chosen}</div>{tiles}', chosen=_draw_chosen(data.replay, state), tiles=tiles
    )


def _draw_chosen(replay: DraftReplay, state: PolicyState) -> Markup:
    about = replay.about
    chosen = NEW_POLICY if about.policy is None else str(about.policy.id)
    policies = [(str(each.id), f"{each.name} ({each.status.lower()})") for each in about.policies]
    versions = [(str(each.version), f"version {each.version}, {each.status.lower()}") for each in about.versions]
    active = None if about.policy is None else about.policy.active_version
    against = "with no active version" if active is None else f"with version {active}, which is active"
    return html(
        "{policy}{version}<span>{against}</span>{check}{replay}{kept}",
        policy=draw_select("Policy", "policy", [*policies, (NEW_POLICY, "a new policy")], chosen),
        version=draw_select("Compare", "version", versions, str(about.version)) if versions else NOTHING,
        against=against,
        check=NOTHING if replay.report is None else draw_self_check(replay.report),
        replay=widgets.button("Replay again", ev="replay", icon="play"),
        kept=html('<span class="small warn">{words}</span>', words=_describe_draft_place(state)),
    )


def _describe_draft_place(state: PolicyState) -> str:
    """Describe where a draft is that is too long for the address."""
    if state.is_draft_lost:
        return "The draft of this link was too long for it, so this is the stored version."
    if state.is_draft_kept_here:
        return f"The draft has over {count(MAX_ADDRESS_CHARS)} characters: this window keeps it, and a link does not."
    return ""


def draw_self_check(report: SimulationHandle) -> Markup:
    """Draw whether the recorded policies reproduce their decisions; only then a comparison means anything."""
    check = report.self_check
    if check.unexpected_flips:
        return widgets.pill(f"self-check: {plural(check.unexpected_flips, 'unexpected flip')}", "bad", "warn")
    if not check.decisions:
        return widgets.pill("self-check: no recorded decision to check", "calm", "clock")
    left = f", {count(check.retyped)} not comparable" if check.retyped else ""
    return widgets.pill(f"self-check: 0 unexpected flips in {count(check.decisions)}{left}", "good", "check")


def _draw_tiles(data: Summary, report: SimulationHandle) -> Markup:
    about, history = data.replay.about, data.history
    opened, closed = report.newly_allowed, report.newly_denied
    times = _list_times(history, report)
    noun = NOUNS[about.category][1].capitalize()
    more = closed - opened
    tiles = [
        widgets.Kpi(
            label=f"{noun} replayed",
            value=count(report.decided),
            note=_describe_window(report),
            values=[t.decisions for t in times],
            rows="matrix",
        ),
        widgets.Kpi(
            label="Changed",
            value=count(opened + closed),
            note=html("{share} of all", share=percent(opened + closed, report.decided)),
            values=[t.opened + t.closed for t in times],
            rows="changes",
            ev="changed",
        ),
        widgets.Kpi(
            label="DENY to ALLOW",
            value=count(opened),
            note=_draw_danger(opened, report.decided),
            values=[t.opened for t in times] if opened else [],
            tone="bad",
            rows="changes",
            ev="changed",
            v="allowed",
        ),
        widgets.Kpi(
            label="ALLOW to DENY",
            value=count(closed),
            note=html("{share} of all", share=percent(closed, report.decided)),
            values=[t.closed for t in times] if closed else [],
            rows="changes",
            ev="changed",
            v="denied",
        ),
        widgets.Kpi(
            label="More denials" if more >= 0 else "Fewer denials",
            value=count(abs(more)),
            note=html("{share} of all", share=percent(abs(more), report.decided)),
            rows="matrix",
        ),
    ]
    return widgets.kpi_strip(tiles)


def _draw_danger(opened: int, decided: int) -> Markup:
    share = percent(opened, decided)
    return html('<b class="bad">{share}</b> of all', share=share) if opened else html("none newly allowed")


def _list_times(history: FlipHistory | None, report: SimulationHandle) -> tuple[Flips, ...]:
    """Return the flips by time, if they add up to those of the simulation: other policies may decide as well."""
    if history is None:
        return ()
    total = history.total
    adds_up = (total.opened, total.closed) == (report.newly_allowed, report.newly_denied)
    return history.by_time if adds_up else ()


def _describe_window(report: SimulationHandle) -> Markup:
    window = report.window
    if window.from_ is None and window.to is None:
        return html("all of the history")
    first = "the beginning" if window.from_ is None else day(window.from_, window.to or window.from_)
    last = "now" if window.to is None else day(window.to, window.to)
    return html("{first} to {last}, {n} left out", first=first, last=last, n=count(report.left_out))


PANE: Final = Pane(
    key="kpis",
    load=load_summary,
    draw=draw_summary,
    reads=REPLAY_FIELDS,
)
