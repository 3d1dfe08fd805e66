"""One decision, live: the form of a context, what decides it, what is missing, and what would allow it.

Nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.handles.decisions import ExplanationHandle
from attestlab.client.handles.draft_decisions import DraftDecisionHandle
from attestlab.client.handles.policies import AttributeHandle
from attestlab.core.errors import ValidationFailed
from attestlab.policy.decision_shapes import ChangeOut
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import utc
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import write_policy
from attestlab_dashboards.policy.documents import (
    DraftProblem,
    describe_leaf,
    describe_number,
    describe_value,
    list_attributes,
    write_value,
)
from attestlab_dashboards.policy.events import CONTEXT_EVENT
from attestlab_dashboards.policy.exports import refuse, require_link
from attestlab_dashboards.policy.queries import PolicyText, describe_work, load_text, read_problems
from attestlab_dashboards.policy.rule_tree import RuleNode, draw_rule
from attestlab_dashboards.policy.shared_loads import share
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import draw_problem, name_rule
from attestlab_dashboards.safe import NOTHING, html, join

RECENT: Final = 15  # recorded decisions to choose from
DECIDING_FIELDS: Final = ("policy", "version", "category", "draft", "decision", "context")


class StartingDecision(NamedTuple):
    """A recorded decision to begin with."""

    id: str
    at: datetime
    allowed: bool
    words: str


class LiveDecision(NamedTuple):
    """A context and its decisions.

    Attributes:
        attributes: those that a rule of either text tests, then the others that have a value.
        values: the context, as typed into the form.
        recorded: the decision that the values began with; None if there is none yet.
        draft: what the text decides; None if the service refuses the text.
        active: what the active version decides; None if there is none, or it is the text itself.
    """

    about: PolicyText
    attributes: tuple[AttributeHandle, ...]
    others: tuple[AttributeHandle, ...]
    values: dict[str, str]
    recent: tuple[StartingDecision, ...]
    recorded: ExplanationHandle | None
    draft: DraftDecisionHandle | None
    active: DraftDecisionHandle | None
    problems: tuple[DraftProblem, ...]


def load_decision(lab: Lab, state: PolicyState) -> LiveDecision:
    """Decide the context of the form."""
    about = load_text(lab, state)
    known = share(lab).get("attributes", lambda: tuple(lab.policies.attributes()))
    recent = share(lab).get(("recent", about.category), lambda: _list_recent(lab, about.category))
    chosen = state.decision or (recent[0].id if recent else "")
    recorded = share(lab).get(("decision", chosen), lambda: lab.policies.explain(chosen)) if chosen else None
    values = _flatten({} if recorded is None else recorded.context) | dict(state.context)
    values = {path: value for path, value in values.items() if value}
    context = {each.path: read_value(each, values[each.path]) for each in known if each.path in values}
    tested = list_attributes(about.document, about.active)
    first = [each for path in tested for each in known if each.path == path]
    others = [each for each in known if each.path not in tested]
    draft, problems = _decide_text(lab, about, context)
    active = None if about.active is None else lab.policies.decide(about.active, context)
    others.sort(key=lambda each: each.path not in values)
    return LiveDecision(about, tuple(first), tuple(others), values, recent, recorded, draft, active, problems)


def _decide_text(
    lab: Lab, about: PolicyText, context: dict[str, object]
) -> tuple[DraftDecisionHandle | None, tuple[DraftProblem, ...]]:
    try:
        return lab.policies.decide(about.source, context), ()
    except ValidationFailed as error:
        return None, read_problems(about.text, error)


def _list_recent(lab: Lab, category: str) -> tuple[StartingDecision, ...]:
    rows = lab.sql(
        "select id, created_at, allowed, concat_ws(', ', jurisdiction, trust_tier, risk_rating) as words "
        f"from decisions where action = ? order by seq desc limit {RECENT}",
        [category],
    )
    return tuple(
        StartingDecision(str(row["id"]), row["created_at"], bool(row["allowed"]), str(row["words"]))  # type: ignore[arg-type]  # the column's type is fixed
        for row in rows
    )


def read_value(attribute: AttributeHandle, text: str) -> object:
    """Read what a person typed as a value of an attribute; what is no number stays a text, which counts as missing."""
    if attribute.type in ("number", "integer"):
        with suppress(ValueError):
            number = float(text)
            return int(number) if attribute.type == "integer" and number.is_integer() else number
    if attribute.type == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    return text


def _flatten(context: object, prefix: str = "") -> dict[str, str]:
    """Write a recorded context, which may be nested, as texts by path."""
    found: dict[str, str] = {}
    for name, value in context.items() if isinstance(context, dict) else ():
        if isinstance(value, dict):
            found |= _flatten(value, f"{prefix}{name}.")
        elif value is not None:
            found[f"{prefix}{name}"] = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return found


class TestedValue(BaseModel):
    """What one comparison of a rule answers for the decision's values: `true`, `false` or `unknown`.

    `value` is what the comparison saw; None if the attribute is missing.
    """

    rule: str
    effect: str
    mode: str
    matched: bool
    decides: bool
    comparison: str
    truth: str
    value: str | None


def export_decision(lab: Lab, state: PolicyState) -> Records[TestedValue]:
    """Export what each comparison of the text answers for the values of the form.

    Raises:
        ValidationFailed: the text has an error.
    """
    require_link(state)
    decided = load_decision(lab, state)
    if decided.draft is None:
        raise refuse(decided.problems)
    rows = (
        TestedValue(
            rule=rule.id,
            effect=rule.effect,
            mode=rule.mode,
            matched=rule.matched,
            decides=rule.id == decided.draft.matched_rule,
            comparison=describe_leaf(leaf),
            truth=str(leaf["truth"]),
            value=write_value(leaf["actual"]) if "actual" in leaf else None,
        )
        for rule in decided.draft.rules
        for leaf in _list_compared(rule.when)
    )
    return Records(rows, TestedValue)


def _list_compared(node: RuleNode) -> Iterator[RuleNode]:
    if node["kind"] == "leaf":
        yield node
    else:
        for part in node["parts"]:
            yield from _list_compared(part)


def copy_decision(state: PolicyState) -> str:
    """Write the decision on the values that were changed."""
    return (
        f"decided = lab.policies.decide({write_policy(state)}, {dict(state.context)!r})\n"
        "decided.decision, decided.matched_rules, decided.missing"
    )


_MAX_OPTIONS: Final = 12  # a longer domain is typed, with suggestions


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
        (html("<code data-syntax>{change}</code>", change=_describe_change(each)) for each in found.changes),
        html(" and "),
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


PANE: Final = Pane(
    key="decision",
    question="What about this one?",
    reading="One decision by this text alone; change a value and see the answer. Nothing is recorded",
    span=5,
    load=load_decision,
    draw=draw_decision,
    reads=DECIDING_FIELDS,
    export=export_decision,
    copy_python=copy_decision,
    is_long=True,
    expects=describe_work,
)
