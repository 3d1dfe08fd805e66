"""One decision, live: the form of a context, what decides it, what is missing, and what would allow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup

from attestlab.client.handles.draft_decisions import DraftDecisionHandle
from attestlab.client.handles.policies import AttributeHandle
from attestlab.policy.shapes import ChangeOut, ExplainedRuleOut
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import utc
from attestlab_dashboards.policy.deciding import LiveDecision, StartingDecision
from attestlab_dashboards.policy.documents import describe_leaf, describe_number, describe_value, write_value
from attestlab_dashboards.policy.events import CONTEXT_EVENT
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import draw_problem, effect_pill, name_rule
from attestlab_dashboards.safe import NOTHING, html, join

_MAX_OPTIONS: Final = 12  # a longer domain is typed, with suggestions
_JUNCTIONS: Final = {"all": "all of", "any": "any of", "not": "not"}
_GLYPHS: Final = {"true": ("check", "good"), "false": ("cross", "calm"), "unknown": ("minus", "warn")}


def draw_decision(data: LiveDecision, state: PolicyState) -> Markup:
    """Draw the form and the decision."""
    return html(
        '<div class="po-form">{fields}</div>{others}{recent}{card}',
        fields=join(_draw_field(each, data.values.get(each.path, "")) for each in data.attributes),
        others=_draw_others(data),
        recent=_draw_recent(data, state),
        card=draw_problem(data.problems[0]) if data.draft is None else _draw_card(data, data.draft),
    )


def _draw_field(attribute: AttributeHandle, value: str) -> Markup:
    unit = html(' <span class="muted">({unit})</span>', unit=attribute.unit) if attribute.unit else NOTHING
    return html(
        '<label class="field"><span>{path}{unit}</span>{input}</label>',
        path=attribute.path,
        unit=unit,
        input=_draw_input(attribute, value),
    )


def _draw_input(attribute: AttributeHandle, value: str) -> Markup:
    domain = ["true", "false"] if attribute.type == "boolean" else attribute.domain
    values = {"ev": f"{CONTEXT_EVENT}{attribute.path}", "missing": " po-missing" if not value else ""}
    if isinstance(domain, list) and len(domain) <= _MAX_OPTIONS:
        choices = ["", *domain, *([value] if value and value not in domain else [])]
        return html(
            '<select class="in{missing}" data-ev="{ev}" data-key="{ev}">{options}</select>',
            options=widgets.option_list(((each, each or "missing") for each in choices), value),
            **values,
        )
    return html(
        '<input class="in{missing}" type="text" data-ev="{ev}" data-key="{ev}" value="{value}" placeholder="missing" '
        'maxlength="200" autocomplete="off"{numeric}>',
        value=value,
        numeric=html(' inputmode="decimal"') if attribute.type in ("number", "integer") else NOTHING,
        **values,
    )


def _draw_others(data: LiveDecision) -> Markup:
    """Draw the attributes that no rule tests, folded."""
    if not data.others:
        return NOTHING
    return html(
        '<details class="po-others" id="po-others"><summary>{n} more attributes, which no rule tests</summary>'
        '<div class="po-form">{fields}</div></details>',
        n=len(data.others),
        fields=join(_draw_field(each, data.values.get(each.path, "")) for each in data.others),
    )


def _draw_recent(data: LiveDecision, state: PolicyState) -> Markup:
    if not data.recent:
        return NOTHING
    chosen = data.recorded.decision_id if data.recorded else ""
    listed = list(data.recent)
    if data.recorded is not None and chosen not in {each.id for each in listed}:
        recorded = data.recorded
        listed.insert(0, StartingDecision(chosen, recorded.created_at, recorded.allowed, "chosen below"))
    options = widgets.option_list(
        ((each.id, f"{utc(each.at)}: {'ALLOW' if each.allowed else 'DENY'}, {each.words}") for each in listed), chosen
    )
    changed = widgets.button("Its recorded values", ev="load", v=chosen) if state.context else NOTHING
    return html(
        '<div class="po-recent"><label class="po-choice">Recorded<select class="in" data-ev="load" data-key="load">'
        "{options}</select></label>{changed}</div>",
        options=options,
        changed=changed,
    )


def _draw_card(data: LiveDecision, draft: DraftDecisionHandle) -> Markup:
    return html(
        '<div aria-live="polite">{verdict}{rules}{missing}{change}{diagnostics}</div>',
        verdict=_draw_verdict(data, draft),
        rules=join(draw_rule(each, draft.matched_rule) for each in draft.rules),
        missing=_draw_missing(draft),
        change=_draw_change(draft),
        diagnostics=join(
            html(
                '<p class="po-warning">{icon}{path}: {message}</p>',
                icon=icons.draw("warn"),
                path=d.path,
                message=d.message,
            )
            for d in draft.diagnostics
        ),
    )


def _draw_verdict(data: LiveDecision, draft: DraftDecisionHandle) -> Markup:
    is_flip = data.active is not None and data.active.decision != draft.decision
    against = NOTHING
    if data.active is not None and data.about.policy is not None:
        word = "a flip" if is_flip else "the same"
        against = html(
            " Version {version} says <b>{effect}</b>: {word}.",
            version=data.about.policy.active_version,
            effect=data.active.decision,
            word=word,
        )
    return html(
        '<div class="po-verdict {tone}">{icon}<b class="po-effect">{effect}</b>'
        "<span>by <b>{rule}</b>.{against}</span></div>",
        tone="good" if draft.allowed else "bad",
        icon=icons.draw("check" if draft.allowed else "cross"),
        effect=draft.decision,
        rule=name_rule(draft.matched_rule),
        against=against,
    )


def draw_rule(rule: ExplainedRuleOut, deciding: str | None) -> Markup:
    """Draw a rule with the truth of each part of its condition; the deciding one is unfolded."""
    word = "decides" if rule.id == deciding else "would match, not reached" if rule.matched else "does not match"
    if rule.mode == "MONITOR":
        word = "watched only, matches" if rule.matched else "watched only"
    return html(
        '<details class="po-rule" id="po-rule-{id}"{open}><summary>{glyph}<b>{id}</b>{effect}'
        '<span class="muted">{word}</span></summary>{tree}</details>',
        id=rule.id,
        open=html(" open") if rule.id == deciding else NOTHING,
        glyph=_draw_glyph("true" if rule.matched else "false"),
        effect=effect_pill(rule.effect),
        word=word,
        tree=_draw_node(rule.when),
    )


def _draw_glyph(truth: str) -> Markup:
    icon, tone = _GLYPHS.get(truth, _GLYPHS["unknown"])
    words = {"true": "true", "false": "false"}.get(truth, "unknown")
    return html(
        '<span class="po-truth {tone}" title="{words}">{icon}<span class="al-hidden">{words}</span></span>',
        tone=tone,
        words=words,
        icon=icons.draw(icon),
    )


def _draw_node(node: Mapping[str, Any]) -> Markup:
    """Draw a node of a condition with its truth; a leaf also with the value that it saw."""
    glyph = _draw_glyph(str(node["truth"]))
    if node["kind"] == "leaf":
        seen = f"is {describe_value(node['actual'])}" if "actual" in node else _describe_absence(str(node["truth"]))
        return html(
            '<div class="po-leaf">{glyph}<code>{leaf}</code><span class="muted">{seen}</span></div>',
            glyph=glyph,
            leaf=describe_leaf(node),
            seen=seen,
        )
    return html(
        '<div class="po-node"><div class="po-leaf">{glyph}<span>{word}</span></div>'
        '<div class="po-parts">{parts}</div></div>',
        glyph=glyph,
        word=_JUNCTIONS.get(str(node["kind"]), node["kind"]),
        parts=join(map(_draw_node, node["parts"])),
    )


def _describe_absence(truth: str) -> str:
    return {"true": "missing, counts as true", "false": "missing, counts as false"}.get(truth, "missing, so unknown")


def _draw_missing(draft: DraftDecisionHandle) -> Markup:
    if not draft.missing:
        return NOTHING
    chips = join(html('<span class="chip po-static">{path}</span>', path=path) for path in draft.missing)
    return html('<div class="po-line"><span class="muted">Missing:</span>{chips}</div>', chips=chips)


def _draw_change(draft: DraftDecisionHandle) -> Markup:
    found = draft.counterfactual
    opposite = "deny" if draft.allowed else "allow"
    if found.changes is None:
        why = "No change of values" if found.complete else "No change that was found in time"
        return html('<p class="po-line muted">{why} would {opposite} it.</p>', why=why, opposite=opposite)
    drawn = join(
        (html("<code>{change}</code>", change=_describe_change(each)) for each in found.changes), html(" and ")
    )
    values = "\n".join(f"{each.path}={write_value(each.after)}" for each in found.changes)
    return html(
        '<div class="po-line"><span class="muted">Smallest change that would {opposite} it:</span>'
        "{changes}{button}</div>",
        opposite=opposite,
        changes=drawn,
        button=widgets.button("Try this change", ev="try", v=values),
    )


def _describe_change(change: ChangeOut) -> str:
    after = write_value(change.after)
    if change.above is not None and change.below is not None:
        bounds = f"above {describe_number(change.above)} and below {describe_number(change.below)}"
        return f"{change.path} {bounds}, such as {after}"
    if change.above is not None:
        return f"{change.path} above {describe_number(change.above)}, such as {after}"
    if change.below is not None:
        return f"{change.path} below {describe_number(change.below)}, such as {after}"
    return f"{change.path} from {describe_value(change.before)} to {after}"
