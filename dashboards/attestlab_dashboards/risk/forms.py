"""The forms of the drawer. Each says what it will do, to which object, before its button."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.client.handles.risk import CaseHandle
from attestlab.risk.enforcement.shapes import MAX_COMMENT_LENGTH
from attestlab_dashboards.formats import count
from attestlab_dashboards.risk.profile import EntityEvent, EntityProfile
from attestlab_dashboards.risk.words import kind_of
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import option_list

MIN_REASON: Final = 10
MAX_REASON: Final = 1_000
OUTCOMES: Final = {"fraud": "Confirmed fraud", "legitimate": "False alarm", "inconclusive": "Inconclusive"}
PERIODS: Final = {"7": "for 7 days", "30": "for 30 days", "": "until it is removed"}


def draw_forms(profile: EntityProfile, chosen: EntityEvent | None) -> Markup:
    """Draw the challenge and the lists; a sentence instead for a person who may not."""
    if not profile.may_act:
        return html(
            '<p class="small muted">To challenge or list it, you need the role analyst, admin or owner. An owner can '
            "grant it.</p>"
        )
    return join([_draw_challenge(profile, chosen), _draw_listing(profile)])


def draw_resolution(case: CaseHandle) -> Markup:
    """Draw the form that resolves an open case."""
    return html(
        '<form data-act="resolve" class="rk-form"><input type="hidden" name="case" value="{id}">'
        '<label>Outcome <select name="outcome" required>{options}</select></label>'
        '<label>Note <input type="text" name="note" maxlength="1000" placeholder="What did you find?"></label>'
        '<p class="small muted">Its {signals} this label in every what-if. You can undo it for ten seconds.</p>'
        '<button class="btn sm primary" data-key="resolve:{id}">Resolve the case</button></form>',
        id=str(case.id),
        options=option_list([("", "Choose an outcome"), *OUTCOMES.items()]),
        signals="signal gets" if case.signal_count == 1 else f"{count(case.signal_count)} signals get",
    )


def draw_comment(case: CaseHandle) -> Markup:
    """Draw the form that writes a comment to a case."""
    return html(
        '<form data-act="comment" class="rk-form"><input type="hidden" name="case" value="{id}">'
        '<textarea name="text" required maxlength="{longest}" rows="2" aria-label="Comment" '
        'placeholder="Comment for colleagues. You cannot change it later."></textarea>'
        '<button class="btn sm" data-key="comment:{id}">Comment</button></form>',
        id=str(case.id),
        longest=str(MAX_COMMENT_LENGTH),
    )


def _draw_challenge(profile: EntityProfile, chosen: EntityEvent | None) -> Markup:
    noun = kind_of(profile.entity.type).lower().replace("ip ", "IP ")
    return html(
        '<h3>Challenge this {noun}</h3><form data-act="challenge" class="rk-form">{entity}'
        '<input type="hidden" name="score" value="{score}">'
        '<textarea name="reason" required minlength="10" maxlength="1000" rows="3" aria-label="Reason" '
        'placeholder="Reason, at least 10 characters. It is kept in the audit trail."></textarea>'
        '<p class="small muted">Records the decision that {label} must prove itself, and publishes nothing. Your '
        "systems read it; an entity on the allow list needs no proof.</p>"
        '<button class="btn sm primary" data-key="challenge">Require a challenge</button></form>',
        noun=noun,
        entity=_draw_entity_fields(profile),
        score="" if chosen is None else f"{round(chosen.score)}",
        label=profile.name,
    )


def _draw_listing(profile: EntityProfile) -> Markup:
    entries = join(
        html(
            '<form data-act="unlist" class="rk-form rk-entry"><input type="hidden" name="entry" value="{id}"><span>'
            "On the <b>{list}</b> list: {reason}</span>"
            '<button class="btn sm" data-key="unlist:{id}">Remove</button></form>',
            id=str(entry.id),
            list=entry.list,
            reason=entry.reason,
        )
        for entry in profile.lists
    )
    return html(
        '<h3>Allow and deny lists</h3>{entries}<form data-act="list" class="rk-form">{entity}'
        '<label>List <select name="list">{lists}</select></label>'
        '<label>Time <select name="days">{days}</select></label>'
        '<textarea name="reason" required minlength="10" maxlength="1000" rows="2" aria-label="Reason" '
        'placeholder="Reason, at least 10 characters."></textarea>'
        '<p class="small muted">On the deny list it scores 100 wherever the service scores; on the allow list its '
        "signals open no case.</p>"
        '<button class="btn sm" data-key="list">Add to the list</button></form>',
        entries=entries,
        entity=_draw_entity_fields(profile),
        lists=option_list([("deny", "Deny"), ("allow", "Allow")], "deny"),
        days=option_list(PERIODS.items(), "30"),
    )


def _draw_entity_fields(profile: EntityProfile) -> Markup:
    return html(
        '<input type="hidden" name="kind" value="{kind}"><input type="hidden" name="id" value="{id}">',
        kind=profile.entity.type.value,
        id=profile.entity.id,
    )
