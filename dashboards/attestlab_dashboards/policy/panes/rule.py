"""The drawer of one rule: what it alone denies or allows, and for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.policies import SimulationHandle
from attestlab.client.handles.simulation_parts import RuleAlone
from attestlab.simulation.shapes import RuleSegmentOut
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import write_options, write_policy, write_window
from attestlab_dashboards.policy.documents import describe_condition, disable_rule, list_rules
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, PolicyText, load_isolated, load_text
from attestlab_dashboards.policy.state import DEFAULT_SEGMENTS, PolicyState
from attestlab_dashboards.policy.words import describe_segment, effect_pill, name_decisions
from attestlab_dashboards.safe import NOTHING, html, join, path

_SHOWN: Final = 10


class IsolatedRuleFacts(NamedTuple):
    """A text with one of its rules and without it, and the names of the issuers that the rule hits, by id."""

    about: PolicyText
    report: SimulationHandle
    alone: RuleAlone
    names: Mapping[str, str]


def load_rule(lab: Lab, state: PolicyState) -> IsolatedRuleFacts | None:
    """Load the rule in the drawer; None if it is closed, or the text has no such rule."""
    if not state.rule:
        return None
    report = load_isolated(lab, state)
    if report is None or report.alone is None:
        return None
    ids = [str(each.segments["target_id"]) for each in report.alone.targets[:_SHOWN] if each.segments["target_id"]]
    return IsolatedRuleFacts(load_text(lab, state), report, report.alone, load_issuer_names(lab, ids))


def draw_rule(data: IsolatedRuleFacts | None, state: PolicyState) -> Markup:
    """Draw the drawer: the condition, the draft with the rule against the draft without it, and whom it hits."""
    if data is None:
        return NOTHING
    rules = {str(rule.get("id")): rule for rule in list_rules(data.about.document)}
    without = disable_rule(data.about.text, data.alone.rule)
    return html(
        '<aside class="al-drawer" role="dialog" aria-label="The rule {id}" tabindex="-1">'
        '<div class="ctitle"><div><h2>{id} {effect}</h2><div class="sub" data-syntax>{when}</div></div>{close}</div>'
        '<p class="po-alone">{sentence}</p>{comparison}<h3>By segment</h3>{chips}{segments}{targets}'
        '<div class="po-buttons">{button}{copy}</div></aside>',
        id=data.alone.rule,
        effect=effect_pill(data.alone.effect),
        when=describe_condition(rules.get(data.alone.rule, {}).get("when")),
        close=html(
            '<button type="button" class="btn sm" data-ev="close" data-v="" data-key="close" data-focus>'
            "{icon}Close</button>",
            icon=icons.draw("cross"),
        ),
        sentence=describe_rule(data),
        comparison=_draw_comparison(data),
        chips=_draw_chips(state),
        segments=_draw_hits([(describe_segment(each.segments), each) for each in data.alone.segments], "segment"),
        targets=_draw_issuers(data),
        button=NOTHING if without is None else widgets.button("Try the draft without it", ev="draft", v=without),
        copy=html(
            '<button type="button" class="btn sm" data-copy="{python}">Copy as Python</button>', python=copy_rule(state)
        ),
    )


def describe_rule(data: IsolatedRuleFacts) -> Markup:
    """Say what the rule alone denies or allows."""
    alone, about = data.alone, data.about
    if not alone.hits:
        return html("It matches no decision of this window.")
    if not (alone.would_allow or alone.would_deny):
        return html(
            "It matches <b>{hits}</b> and changes none of them: without it they are decided alike.",
            hits=name_decisions(about, alone.hits),
        )
    parts = [
        html("denies <b>{n}</b>", n=name_decisions(about, alone.would_allow)) if alone.would_allow else None,
        html("allows <b>{n}</b>", n=name_decisions(about, alone.would_deny)) if alone.would_deny else None,
    ]
    return html(
        "It alone {parts}: without it they would be decided the other way.",
        parts=join([each for each in parts if each is not None], html(" and ")),
    )


def _draw_comparison(data: IsolatedRuleFacts) -> Markup:
    """Draw the counts with the rule and without it."""
    alone, decided = data.alone, data.report.decided
    denied = sum(each.count for each in data.report.transitions if each.to == "DENY")
    without = denied - alone.would_allow + alone.would_deny
    rows = [("Denied", denied, without), ("Allowed", decided - denied, decided - without)]
    body = join(
        html(
            '<tr><th scope="row">{label}</th><td class="right">{first}</td><td class="right">{second}</td></tr>',
            label=label,
            first=count(first),
            second=count(second),
        )
        for label, first, second in rows
    )
    return html(
        '<table class="t po-values"><thead><tr><th scope="col"></th><th scope="col" class="right">With it</th>'
        '<th scope="col" class="right">Without it</th></tr></thead><tbody>{body}</tbody></table>'
        '<p class="sub">It matches {hits}, and decides {decisive} of them.</p>',
        body=body,
        hits=name_decisions(data.about, alone.hits),
        decisive=count(alone.decisive),
    )


def _draw_chips(state: PolicyState) -> Markup:
    chips = join(
        widgets.chip(name, ev="segment", v=name, pressed=name in state.by)
        for name in dict.fromkeys((*state.by, *DEFAULT_SEGMENTS))
    )
    return html('<div class="chips po-by" role="group" aria-label="Segment by">{chips}</div>', chips=chips)


def _draw_issuers(data: IsolatedRuleFacts) -> Markup:
    """Draw the issuers that it hits; other targets, such as a profile, are no issuers and have no name here."""
    hits = [(str(each.segments["target_id"] or ""), each) for each in data.alone.targets]
    rows = [
        (_draw_issuer(issuer_id, data.names[issuer_id]), each) for issuer_id, each in hits if issuer_id in data.names
    ]
    if not rows:
        return NOTHING
    return html("<h3>By issuer</h3>{rows}", rows=_draw_hits(rows, "issuer"))


def _draw_issuer(issuer_id: str, name: str) -> Markup:
    return html('<a href="issuers?issuer={id}">{name}</a>', id=path(issuer_id), name=name)


def _draw_hits(rows: Sequence[tuple[str | Markup, RuleSegmentOut]], what: str) -> Markup:
    if not rows:
        return html('<p class="po-none muted">It matches nothing here.</p>')
    columns = (
        widgets.TableColumn(what.capitalize()),
        widgets.TableColumn("Matches", align="right"),
        widgets.TableColumn("Decides", align="right"),
        widgets.TableColumn("Changes alone", align="right"),
    )
    cells = [
        [
            html("{label}", label=label),
            html("{n}", n=count(each.hits)),
            html("{n}", n=count(each.decisive)),
            html("<b>{n}</b>", n=count(each.would_allow + each.would_deny)),
        ]
        for label, each in rows[:_SHOWN]
    ]
    more = len(rows) - _SHOWN
    rest = html('<p class="sub">and {n} more</p>', n=count(more)) if more > 0 else NOTHING
    keys = [f"{what}:{place}" for place in range(len(cells))]
    drawn = widgets.table(columns, cells, caption=f"What it hits, by {what}", keys=keys)
    return html("{drawn}{rest}", drawn=drawn, rest=rest)


def copy_rule(state: PolicyState) -> str:
    """Write the comparison of the text with the rule and without it."""
    policy, options = write_policy(state), write_options(state)
    isolated = f"report = lab.policies.isolate({policy}, {state.rule!r}{options}, by={list(state.by)!r})"
    return "\n".join([*write_window(state), isolated, "report.alone.segments.df()"])


PANE: Final = Pane(
    key="rule",
    load=load_rule,
    draw=draw_rule,
    reads=(*REPLAY_FIELDS, "rule"),
)
