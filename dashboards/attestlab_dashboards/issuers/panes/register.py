"""The dialog that registers an issuer: what the service needs to know, and how a new issuer stands."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.core.crypto.signing import Algorithm
from attestlab.issuers.rules import RiskRating, TrustTier
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.issuers.state import ADD, IssuerState
from attestlab_dashboards.issuers.viewer import read_viewer
from attestlab_dashboards.issuers.words import write_word
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

MAX_NAME: Final = 200
MAX_TEXT: Final = 2048
MAX_KID: Final = 64
_NO_KEY: Final = html('<option value="">none yet: you add the public half of your own</option>')


def load_registration(lab: Lab, state: IssuerState) -> bool:
    """Return whether the dialog is open, which it is only for a person who may register issuers."""
    return state.ask == ADD and read_viewer(lab).may_change_keys


def draw_registration(is_open: bool, _state: IssuerState) -> Markup:
    """Draw the dialog; nothing while it is closed."""
    if not is_open:
        return NOTHING
    return html(
        '<div class="al-dialog" role="dialog" aria-modal="true" aria-label="Add an issuer"><div class="is-dialog">'
        '<h2>Add an issuer</h2><p class="sub">{standing}</p><form data-act="register">{fields}'
        '<div class="is-foot"><button type="button" class="btn" data-ev="close" data-v="" data-key="close-dialog">'
        'Cancel</button><button type="submit" class="btn primary" data-key="submit">Add the issuer</button></div>'
        "</form></div></div>",
        standing=f"It begins active, with the tier {write_word(TrustTier.SELF_SIGNED)} and the risk "
        f"{write_word(RiskRating.LOW)}; to change these needs a second person. Its registration is an entry of the log "
        "and stays.",
        fields=join([_draw_texts(), _draw_key()]),
    )


def may_register(lab: Lab, _state: IssuerState) -> bool:
    """Whether the person may register issuers."""
    return read_viewer(lab).may_change_keys


def draw_register_button(is_allowed: bool, _state: IssuerState) -> Markup:
    """Draw the button that opens the dialog; nothing for a person who may not register issuers."""
    return widgets.button("Add an issuer", ev="add", primary=True, icon="plus") if is_allowed else NOTHING


def _draw_texts() -> Markup:
    return html(
        '<label class="field">Name<input name="name" required maxlength="{name}" autocomplete="off" data-focus></label>'
        '<label class="field">Domain, such as registrar.example<input name="domain" required maxlength="{text}" '
        'autocomplete="off" spellcheck="false" inputmode="url"></label>'
        '<label class="field">Legal name, if it is another one<input name="legal_name" maxlength="{name}" '
        'autocomplete="off"></label>'
        '<label class="field">Jurisdiction: two letters of ISO 3166-1, such as CH; may be empty'
        '<input name="jurisdiction" maxlength="2" autocomplete="off" spellcheck="false"></label>',
        name=MAX_NAME,
        text=MAX_TEXT,
    )


def _draw_key() -> Markup:
    algorithms = join(html('<option value="{name}">{name}</option>', name=each.value) for each in Algorithm)
    return html(
        '<label class="field">First key, which the service makes and holds<select name="alg">{algorithms}{none}'
        '</select></label><label class="field">Its kid; empty for a generated one'
        '<input name="kid" maxlength="{kid}" autocomplete="off" spellcheck="false"></label>',
        algorithms=algorithms,
        none=_NO_KEY,
        kid=MAX_KID,
    )


PANE: Final = Pane(
    key="register",
    load=load_registration,
    draw=draw_registration,
    reads=("ask",),
    scope=Scope.ISSUERS_READ.value,
)
BUTTON: Final = Pane(
    key="primary", load=may_register, draw=draw_register_button, reads=(), is_optional=True, is_tool=True
)
