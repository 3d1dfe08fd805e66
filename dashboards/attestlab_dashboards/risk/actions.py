"""What the page writes: challenges, list entries, and outcomes of cases, by the facade's verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from attestlab import Lab
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Scope
from attestlab.risk.rules import Entity
from attestlab_dashboards.pages import Action, Notice
from attestlab_dashboards.risk.forms import MIN_REASON, OUTCOMES, PERIODS
from attestlab_dashboards.risk.overview import forget_overview
from attestlab_dashboards.risk.panes.answer import forget_answer
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.words import label_of
from attestlab_dashboards.safe import html

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
    """Resolve an open case with its outcome."""
    outcome = fields.get("outcome", "")
    if outcome not in OUTCOMES:
        raise ValidationFailed(f"{outcome[:20]!r} is no outcome. Choose one of the list.")
    case = lab.cases.resolve(fields.get("case", ""), outcome, fields.get("note", "").strip() or None)
    return Notice(
        html(
            "<b>Case resolved as {outcome}.</b> The next escalation of {entity} opens a new one.",
            outcome=OUTCOMES[outcome].lower(),
            entity=case.entity_id,
        )
    )


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
}
