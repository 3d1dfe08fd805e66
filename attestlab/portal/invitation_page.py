"""The pages of an invitation: the form that accepts it, what follows, and one page for a link that does not work."""

from __future__ import annotations

from attestlab.core.crypto.passwords import MIN_LENGTH
from attestlab.orgs.members import OpenInvitation
from attestlab.portal.layout import Html, keep_private, render_page

_ROOT = "../"


def form_page(
    invitation: OpenInvitation, token: str, *, name: str | None = None, problem: str = "", status: int = 200
) -> Html:
    """Render the form, with what the person wrote and what is wrong with it; the password is never sent back."""
    html = render_page(
        "invitation.html",
        status=status,
        root=_ROOT,
        invitation=invitation,
        token=token,
        name=invitation.name if name is None else name,
        min_length=MIN_LENGTH,
        problem=problem,
    )
    return keep_private(html)


def accepted_page(invitation: OpenInvitation) -> Html:
    """Render the page after the form: where to sign in."""
    return keep_private(render_page("invitation_accepted.html", root=_ROOT, invitation=invitation))


def unusable_page() -> Html:
    """Render the page of a link that is wrong, used, renewed or expired; it does not distinguish these."""
    return keep_private(render_page("invitation_unusable.html", status=404, root=_ROOT))
