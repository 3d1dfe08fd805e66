"""The dialog before a key is revoked or a session is ended: what it does, and the reason."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.orgs.rules import Scope
from attestlab_dashboards.access.register import load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html

MAX_REASON_CHARS: Final = 1_024
_TITLES: Final = {"revoke": "Revoke {name}", "lose": "Report {name} as lost", "end": "End a session of {name}"}
_EFFECTS: Final = {
    "revoke": "This is final: the next request with this key is refused. What it did stays.",
    "lose": "The key is revoked for good and marked as lost. Owners and admins are informed.",
    "end": "Its next request is refused, and the person has to sign in again. Their other sessions stay.",
}
_BUTTONS: Final = {"revoke": "Revoke it", "lose": "Report it", "end": "End it"}


class AccessChange(NamedTuple):
    """The name of what a dialog asks about: a key, or the person of a session."""

    name: str


def load_change(lab: Lab, state: AccessState) -> AccessChange | None:
    """Load what the dialog asks about; None while there is none."""
    if not state.about:
        return None
    register = load_register(lab, state)
    if state.ask != "end":
        return AccessChange(register.names.get(state.about, "an API key"))
    session = next((each for each in register.sessions or () if str(each.id) == state.about), None)
    return AccessChange(register.names.get(str(session.user_id), "a person") if session else "a person")


def draw_dialog(change: AccessChange | None, state: AccessState) -> Markup:
    """Draw the dialog; nothing while none is open."""
    if change is None:
        return NOTHING
    return html(
        '<div class="al-dialog" role="dialog" aria-modal="true" aria-label="{title}"><div class="is-dialog">'
        '<h2>{title}</h2><p class="sub">{effect}</p><form data-act="{act}">'
        '<input type="hidden" name="about" value="{id}">{reason}<div class="is-foot">'
        '<button type="button" class="btn" data-ev="close" data-v="" data-key="close-dialog">Cancel</button>'
        '<button type="submit" class="btn is-danger" data-key="submit">{button}</button></div></form></div></div>',
        title=_TITLES[state.ask].format(name=change.name),
        effect=_EFFECTS[state.ask],
        act=state.ask,
        id=state.about,
        reason=NOTHING if state.ask == "end" else _draw_reason(),
        button=_BUTTONS[state.ask],
    )


def _draw_reason() -> Markup:
    return html(
        '<label class="field">Reason, kept in the audit trail<textarea name="reason" rows="2" required '
        'maxlength="{most}" data-focus></textarea></label>',
        most=MAX_REASON_CHARS,
    )


PANE: Final = Pane(
    key="confirm", load=load_change, draw=draw_dialog, reads=("ask", "about"), scope=Scope.USERS_READ.value
)
