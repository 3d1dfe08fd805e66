"""What the page writes: challenges, list entries, and outcomes of cases, by the facade's verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.risk import CaseResultHandle
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.orgs.rules import Scope
from attestlab.risk.rules import Entity
from attestlab_dashboards.formats import plural
from attestlab_dashboards.pages import Action, Notice
from attestlab_dashboards.risk.forms import MIN_REASON, OUTCOMES, PERIODS
from attestlab_dashboards.risk.overview import forget_overview
from attestlab_dashboards.risk.panes.answer import forget_answer
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.words import label_of
from attestlab_dashboards.safe import NOTHING, html

UNDO_SECONDS: Final = 10
MAX_RESOLVED: Final = 500  # of a group, at once
MAX_ASSIGNED: Final = 25  # the rows of a page
_Run = Callable[[Lab, RiskState, Mapping[str, str]], Notice]


def challenge(lab: Lab, _state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Record that an entity must prove itself."""
    entity, reason = _read_entity(fields), _read_reason(fields)
    score = fields.get("score", "")
    decided = lab.challenges.create(
        entity.id, reason, subject_type=entity.type.value, risk_score=int(score) if score.isdecimal() else None
    )
    if not decided.challenge_required:
        text = html("<b>No challenge needed.</b> {name} is on the allow list.", name=label_of(entity, {}))
        return Notice(text)
    return Notice(
        html(
            "<b>Challenge recorded for {name}.</b> It must prove itself before its next step; then resolve its case.",
            name=label_of(entity, {}),
        )
    )


def add_to_list(lab: Lab, _state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Put an entity on the allow or the deny list."""
    entity = Entity.of_list(fields.get("kind", ""), fields.get("id", ""))
    reason, days = _read_reason(fields), fields.get("days", "")
    if days not in PERIODS:
        raise ValidationFailed(f"{days[:20]!r} is no time. Choose one of the list.")
    end = lab.now() + timedelta(days=int(days)) if days else None
    entry = lab.lists.add(fields.get("list", ""), entity.type.value, entity.id, reason=reason, expires_at=end)
    return Notice(
        html(
            "<b>{name} is on the {list} list</b> {time}. Its next signal is scored by that.",
            name=label_of(entity, {}),
            list=entry.list,
            time=PERIODS[days],
        )
    )


def remove_from_list(lab: Lab, _state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Take an entity off its list."""
    lab.lists.remove(fields.get("entry", ""))
    return Notice(html("<b>Removed from the list.</b> Its next signal is scored without it."))


def resolve(lab: Lab, _state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Resolve an open case with its outcome; ten seconds long it can be undone."""
    outcome, note = _read_outcome(fields), fields.get("note", "").strip() or None
    item = {"id": fields.get("case", ""), "outcome": outcome, "note": note}
    (done,) = lab.cases.resolve_many([item], undo_seconds=UNDO_SECONDS)
    if done.error is not None:
        raise Conflict(done.error.message)
    return Notice(
        html(
            "<b>Case resolved as {outcome}.</b> The next escalation of its entity opens a new one. {undo}",
            outcome=OUTCOMES[outcome].lower(),
            undo=_draw_undo([str(done.id)]),
        )
    )


def resolve_many(lab: Lab, state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Resolve the chosen cases, or all of a group; ten seconds long it can be undone."""
    outcome, note = _read_outcome(fields), fields.get("note", "").strip() or None
    ids = _list_cases(lab, fields)
    done = lab.cases.resolve_many(
        [{"id": each, "outcome": outcome, "note": note} for each in ids], undo_seconds=UNDO_SECONDS
    )
    resolved = [str(each.id) for each in done if each.error is None]
    return Notice(
        html(
            "<b>{number} resolved as {outcome}.</b>{left} {undo}",
            number=plural(len(resolved), "case"),
            outcome=OUTCOMES[outcome].lower(),
            left=_describe_left(done),
            undo=_draw_undo(resolved) if resolved else "",
        ),
        state.change(group="") if fields.get("key") else None,
    )


def reopen(lab: Lab, _state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Open cases again whose outcome is no label yet."""
    done = lab.cases.reopen(_list_ids(fields))
    opened = sum(each.error is None for each in done)
    return Notice(html("<b>{number} open again.</b>{left}", number=plural(opened, "case"), left=_describe_left(done)))


def assign(lab: Lab, _state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Assign the chosen cases to a person, or to no one."""
    person, ids = fields.get("person", ""), _list_ids(fields)[:MAX_ASSIGNED]
    for each in ids:
        lab.cases.assign(each, None if person == "no-one" else person)
    return Notice(html("<b>{number} assigned{to}.</b>", number=plural(len(ids), "case"), to=_name_person(lab, person)))


def comment(lab: Lab, _state: RiskState, fields: Mapping[str, str]) -> Notice:
    """Write a comment to a case."""
    text = fields.get("text", "").strip()
    if not text:
        raise ValidationFailed("The comment is empty. Write what colleagues should know.")
    lab.cases.comment(fields.get("case", ""), text)
    return Notice(html("<b>Comment written.</b> Everyone who sees the case can read it."))


def _read_outcome(fields: Mapping[str, str]) -> str:
    outcome = fields.get("outcome", "")
    if outcome in OUTCOMES:
        return outcome
    what = f"{outcome[:20]!r} is no outcome" if outcome else "No outcome is chosen"
    raise ValidationFailed(f"{what}. Choose one first: fraud, false alarm or inconclusive.")


def _list_cases(lab: Lab, fields: Mapping[str, str]) -> list[str]:
    if not (key := fields.get("key", "")):
        return _list_ids(fields)
    found = lab.cases.list(status="open", linked_type=fields.get("by", ""), linked_id=key, limit=MAX_RESOLVED)
    return [str(case.id) for case in found]


def _list_ids(fields: Mapping[str, str]) -> list[str]:
    ids = [each for each in fields.get("ids", "").split(",") if each]
    if not ids:
        raise ValidationFailed("No case is chosen. Select one, or move to it with j and k.")
    return ids


def _describe_left(done: Iterable[CaseResultHandle]) -> Markup:
    """Say how many cases stayed as they were, and why the first of them did."""
    errors = [each.error.message for each in done if each.error is not None]
    if not errors:
        return NOTHING
    stayed = "stayed as it was" if len(errors) == 1 else "stayed as they were"
    return html(" {number} {stayed}: {why}", number=plural(len(errors), "case"), stayed=stayed, why=errors[0])


def _draw_undo(ids: Iterable[str]) -> Markup:
    return html(
        '<button type="button" class="al-undo" data-act="reopen" data-ids="{ids}" data-seconds="{seconds}">'
        "Undo</button>",
        ids=",".join(ids),
        seconds=str(UNDO_SECONDS),
    )


def _name_person(lab: Lab, person: str) -> str:
    if person == "no-one":
        return " to no one"
    return " to you" if person == str(lab.me().id) else f" to {lab.people.names().get(person, 'a colleague')}"


def _read_entity(fields: Mapping[str, str]) -> Entity:
    return Entity.of_sent(fields.get("kind", ""), fields.get("id", ""))


def _read_reason(fields: Mapping[str, str]) -> str:
    reason = fields.get("reason", "").strip()
    if len(reason) < MIN_REASON:
        raise ValidationFailed(f"The reason has {len(reason)} characters; write at least {MIN_REASON}.")
    return reason


def _write(run: _Run) -> Action[RiskState]:
    """Make an action after which every pane loads again."""

    def run_and_forget(lab: Lab, state: RiskState, fields: Mapping[str, str]) -> Notice:
        try:
            return run(lab, state, fields)
        finally:
            forget_answer(lab)
            forget_overview(lab)

    return Action(scope=Scope.RISK_WRITE.value, run=run_and_forget)


ACTIONS: Final[Mapping[str, Action[RiskState]]] = {
    "challenge": _write(challenge),
    "list": _write(add_to_list),
    "unlist": _write(remove_from_list),
    "resolve": _write(resolve),
    "resolve_many": _write(resolve_many),
    "reopen": _write(reopen),
    "assign": _write(assign),
    "comment": _write(comment),
}
