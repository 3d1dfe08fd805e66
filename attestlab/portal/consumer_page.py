"""The pages of consumers: sign-up and sign-in, inbox, protections, settings."""

from __future__ import annotations

from typing import Final, NamedTuple

from attestlab.portal.consumer_session import PageSession
from attestlab.portal.layout import Html, keep_private, render_page
from attestlab.portal.messages import AnswerTone
from attestlab.portal.page_forms import FormProblem


def render(
    template: str,
    *,
    root: str = "./",
    session: PageSession | None = None,
    problem: FormProblem | None = None,
    status: int = 200,
    **facts: object,
) -> Html:
    """Render a page by the name of its template; a problem gives the page its status."""
    html = render_page(
        f"consumer/{template}",
        status=status if problem is None else problem.status,
        root=root,
        inline_css="",
        form_token="" if session is None else session.form_token,
        is_signed_in=session is not None,
        problem="" if problem is None else problem.text,
        **facts,
    )
    return keep_private(html)


class NextStep(NamedTuple):
    """A link to what a person can do next; `href` leads from the first page."""

    href: str
    label: str


SIGN_IN: Final = NextStep("signin", "Sign in")
FIRST_PAGE: Final = NextStep("", "Go to the first page")


def notice(
    headline: str,
    text: str,
    *links: NextStep,
    tone: AnswerTone = AnswerTone.GOOD,
    status: int = 200,
    is_for_all: bool = False,
) -> Html:
    """Render a page that states what has happened; one `is_for_all` addresses members of teams, too."""
    return render(
        "notice.html", headline=headline, text=text, links=links, tone=tone, status=status, is_for_all=is_for_all
    )
