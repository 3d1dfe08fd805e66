"""The dialogs of the page, which repeat the numbers before a version is saved, shadowed, activated or archived."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.panes.activation import ActivationReadiness, describe_effect, load_readiness
from attestlab_dashboards.policy.panes.changes import Changes, draw_changes, load_changes
from attestlab_dashboards.policy.queries import REPLAY_FIELDS
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.safe import NOTHING, html


class DialogFacts(NamedTuple):
    """What an open dialog repeats; an activation also lists what it changes."""

    readiness: ActivationReadiness
    changes: Changes | None


def load_dialog(lab: Lab, state: PolicyState) -> DialogFacts | None:
    """Load what the open dialog repeats; None if none is open."""
    if not state.dialog:
        return None
    return DialogFacts(load_readiness(lab, state), load_changes(lab, state) if state.dialog == "activate" else None)


def draw_dialog(facts: DialogFacts | None, state: PolicyState) -> Markup:
    """Draw the dialog of an action: what it is about, what it does, and the numbers."""
    if facts is None or facts.readiness.proof.replay.report is None:
        return NOTHING
    data = facts.readiness
    title, effect, button = _describe_action(data, state.dialog)
    return html(
        '<div class="al-dialog" role="dialog" aria-modal="true" aria-label="{title}"><div><form data-act="{action}">'
        "<h2>{title}</h2><p>{effect}</p>{changes}{fields}"
        '<div class="po-buttons end"><button type="button" class="btn" data-ev="close" data-v="" data-key="not-now"'
        ' data-focus>Not now</button><button type="submit" class="btn primary" data-key="confirm">{button}</button>'
        "</div></form></div></div>",
        title=title,
        action=state.dialog,
        effect=effect,
        changes=NOTHING if facts.changes is None else draw_changes(facts.changes, state),
        fields=_draw_fields(data, state.dialog),
        button=button,
    )


def _describe_action(data: ActivationReadiness, action: str) -> tuple[str, Markup, str]:
    about = data.about
    name = str((about.document or {}).get("name", "")) if about.policy is None else about.policy.name
    number = 1 if about.policy is None else about.policy.version + 1
    if action == "save":
        effect = html("The active version remains active. {numbers}", numbers=describe_effect(data))
        return f'Save version {number} of "{name}"?', effect, "Save"
    if action == "shadow":
        effect = html("Each decision records what version {v} would say. It decides nothing.", v=about.version)
        return f'Run version {about.version} of "{name}" in shadow?', effect, "Run in shadow"
    if action == "activate":
        return f'Activate version {about.version} of "{name}"?', describe_effect(data), "Activate"
    effect = html("Permanently. It decides nothing any more, and cannot be changed. Past decisions remain explained.")
    return f'Archive "{name}"?', effect, "Archive"


def _draw_fields(data: ActivationReadiness, action: str) -> Markup:
    if action != "activate":
        return NOTHING
    report = data.proof.replay.report
    opened = 0 if report is None else report.newly_allowed
    closed = 0 if report is None else report.newly_denied
    looked = html(
        '<label class="po-check"><input type="checkbox" name="looked" required> I looked at the {opened} newly allowed '
        "and {closed} newly denied ones</label>",
        opened=count(opened),
        closed=count(closed),
    )
    dead = html(
        '<label class="po-check"><input type="checkbox" name="dead" value="{names}" required> No context can match '
        "{names}, and that is intended</label>",
        names=", ".join(data.dead),
    )
    return html(
        '{looked}{dead}<label class="field">Note for the audit trail'
        '<input type="text" name="note" maxlength="1000"></label><input type="hidden" name="digest" value="{digest}">',
        looked=looked,
        dead=dead if data.dead else NOTHING,
        digest="" if report is None else report.report_digest,
    )


PANE: Final = Pane(
    key="dialog",
    load=load_dialog,
    draw=draw_dialog,
    reads=(*REPLAY_FIELDS, "dialog"),
)
