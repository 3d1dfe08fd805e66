"""The answer in one sentence, the filters, and the tiles."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.policies import SimulationHandle
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, day, percent
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.policy.history import FlipHistory, Flips, load_history
from attestlab_dashboards.policy.queries import DraftReplay, PolicyText, load_replay
from attestlab_dashboards.policy.state import CATEGORIES, MAX_ADDRESS_CHARS, NEW_POLICY, WINDOWS, PolicyState
from attestlab_dashboards.policy.words import NOUNS, describe_segment, draw_select, name_decisions
from attestlab_dashboards.safe import NOTHING, html, join

_WINDOW_WORDS: Final = {
    "all": "All of the history",
    "365d": "365 days",
    "90d": "90 days",
    "30d": "30 days",
    "7d": "7 days",
}
_CATEGORY_WORDS: Final = {"MINT": "Mint", "VERIFY": "Verify", "BUNDLE_EXPORT": "Bundle export"}


class Summary(NamedTuple):
    """A replay, and when its flips happened."""

    replay: DraftReplay
    history: FlipHistory | None


def load_summary(lab: Lab, state: PolicyState) -> Summary:
    """Load the replay, and when its flips happened."""
    history = load_history(lab, state)  # first: the service replays the text for another pane meanwhile
    return Summary(load_replay(lab, state), history)


def draw_answer(data: DraftReplay, _state: PolicyState) -> Markup:
    """Answer the question of the page in a sentence."""
    about, report = data.about, data.report
    if report is None:
        first = data.problems[0]
        return html(
            "Nothing was replayed: <b>line {line}</b> has an error. {message}", line=first.line, message=first.message
        )
    if not report.decided:
        return html(
            "No {noun} was decided in this window, so there is nothing to replay.", noun=NOUNS[about.category][0]
        )
    changed = report.newly_allowed + report.newly_denied
    if not changed:
        return _draw_unchanged(about, report)
    parts = [
        _draw_flips(report, "DENY", "would be allowed", about),
        _draw_flips(report, "ALLOW", "would be denied", about),
    ]
    return html(
        "{name} would have changed <b>{changed} of {all}</b> ({share}): {parts}.",
        name=about.name,
        changed=count(changed),
        all=name_decisions(about, report.decided),
        share=percent(changed, report.decided),
        parts=join([part for part in parts if part], html("; ")),
    )


def _draw_unchanged(about: PolicyText, report: SimulationHandle) -> Markup:
    decisions = name_decisions(about, report.decided)
    if about.is_draft:
        return html("{name} would have changed <b>none of {all}</b>.", name=about.name, all=decisions)
    return html(
        "{name} would have decided <b>all {all}</b> as they were decided. "
        "Change a rule to see what it would have done.",
        name=about.name,
        all=decisions,
    )


def _draw_flips(report: SimulationHandle, before: str, words: str, about: PolicyText) -> Markup:
    """Draw how many decisions flip one way, and the segment with most of them; nothing if none does."""
    number = report.newly_allowed if before == "DENY" else report.newly_denied
    if not number:
        return NOTHING
    flips = [each for each in report.flips if each.from_ == before and each.segments]
    largest = max(flips, key=lambda each: each.count, default=None)
    where = NOTHING
    if largest is not None:
        segment = describe_segment(largest.segments)
        most = "all" if largest.count == number else f"{count(largest.count)} of them"
        where = html(", {most} for {segment}", most=most, segment=segment)
    old = "denied" if before == "DENY" else "allowed"
    return html(
        "<b>{number} {old} {noun} {words}</b>{where}",
        number=count(number),
        old=old,
        noun=NOUNS[about.category][number != 1],
        words=words,
        where=where,
    )


def draw_chips(state: PolicyState, _facts: Facts) -> Markup:
    """Draw the filters that need no data: the action and the window."""
    categories = [widgets.chip("All actions", ev="category", v="", pressed=not state.category)]
    categories += [
        widgets.chip(_CATEGORY_WORDS[each], ev="category", v=each, pressed=state.category == each)
        for each in CATEGORIES
    ]
    is_custom = bool(state.since or state.until)
    windows = [
        widgets.chip(_WINDOW_WORDS[each], ev="window", v=each, pressed=state.window == each and not is_custom)
        for each in WINDOWS
    ]
    return html(
        '{categories}<span class="sep"></span>{windows}<span class="sep"></span>{since}{until}',
        categories=join(categories),
        windows=join(windows),
        since=_draw_day("From", "since", state.since),
        until=_draw_day("to", "until", state.until),
    )


def _draw_day(label: str, name: str, value: str) -> Markup:
    return html(
        '<label class="po-day">{label}<input type="date" data-ev="{name}" data-key="{name}" value="{value}"></label>',
        label=label,
        name=name,
        value=value,
    )


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
        return widgets.pill(f"self-check: {count(check.unexpected_flips)} unexpected flips", "bad", "warn")
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
        ),
        widgets.Kpi(
            label="Changed",
            value=count(opened + closed),
            note=html("{share} of all", share=percent(opened + closed, report.decided)),
            values=[t.opened + t.closed for t in times],
        ),
        widgets.Kpi(
            label="DENY to ALLOW",
            value=count(opened),
            note=_draw_danger(opened, report.decided),
            values=[t.opened for t in times] if opened else [],
            tone="bad",
        ),
        widgets.Kpi(
            label="ALLOW to DENY",
            value=count(closed),
            note=html("{share} of all", share=percent(closed, report.decided)),
            values=[t.closed for t in times] if closed else [],
        ),
        widgets.Kpi(
            label="More denials" if more >= 0 else "Fewer denials",
            value=count(abs(more)),
            note=html("{share} of all", share=percent(abs(more), report.decided)),
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
