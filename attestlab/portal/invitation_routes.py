"""HTTP routes of the page that a mailed invitation leads to. It works without a script."""

from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field

from attestlab.core.errors import NotFound, PermissionDenied, ValidationFailed
from attestlab.core.shapes import In
from attestlab.orgs.members import People
from attestlab.web.executor import Executor
from attestlab.web.page_origin import is_own_origin
from attestlab.web.request import Request
from attestlab.web.response import HTML, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

if TYPE_CHECKING:
    from attestlab.portal.layout import Html

routes = Routes("portal")
_HTML_BODY = {"text/html": str}
_FORM_LIMIT_BYTES = 16 * 1024


class InvitationQuery(In, source="CONTRACT 11.0"):
    """The token of an invitation's link; parameters that mail programs add are ignored."""

    model_config = ConfigDict(extra="ignore")

    token: str = Field(default="", max_length=256, repr=False)
    """The token of the mailed link. Format: 43 base64url characters."""


class InvitationForm(In, source="CONTRACT 11.0"):
    """What the form of an invitation sends; the page states what is wrong with it."""

    token: str = Field(default="", repr=False)
    """The token of the mailed link, which the page repeats. Format: 43 base64url characters."""
    name: str = ""
    """How the person is called. Format: one line, 1-200 characters."""
    password: str = Field(default="", repr=False)
    """The password that the person chooses. Format: at least 12 characters, at most 1024 bytes."""


@routes.get(
    "/invitations/accept",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    secret=True,
    produces=_HTML_BODY,
    raises=(NotFound,),
)
async def get_invitation_page(query: InvitationQuery, people: People, executor: Executor) -> RawResponse:
    """Get the page of an invitation: a form for name and password. Reading it changes nothing.

    A token that is wrong, used, replaced or expired has one page, with status 404. Programs use `POST
    /v1/users/accept-invite`.
    """
    from attestlab.portal import invitation_page  # imports the template engine, which must not delay the start

    try:
        invitation = await executor.read(people.find_invitation, query.token)
    except NotFound:
        return _to_response(invitation_page.unusable_page())
    return _to_response(invitation_page.form_page(invitation, query.token))


@routes.post(
    "/invitations/accept",
    scope=PUBLIC,
    cache_control="no-store",
    page=True,
    secret=True,
    web_form=True,
    idempotency="none",
    body_limit=_FORM_LIMIT_BYTES,
    produces=_HTML_BODY,
    raises=(NotFound, PermissionDenied),
)
async def send_invitation_form(
    request: Request, body: InvitationForm, people: People, executor: Executor
) -> RawResponse:
    """Accept an invitation with the form of its page.

    A form that another page sent gets 403. The page says what is wrong with the name or the password.
    """
    from attestlab.portal import invitation_page

    try:
        invitation = await executor.read(people.find_invitation, body.token)
        if not is_own_origin(request.header("Origin"), request.header("Host"), people.portal_url):
            problem = "This form was sent from another page. Send it from here."
            return _to_response(invitation_page.form_page(invitation, body.token, problem=problem, status=403))
        prepared = await executor.hash_password(people.prepare_join, body.token, body.password)
        await executor.write(lambda tx: people.join(prepared, name=body.name, tx=tx))
    except NotFound:
        return _to_response(invitation_page.unusable_page())
    except ValidationFailed as error:
        page = invitation_page.form_page(invitation, body.token, name=body.name, problem=_describe(error), status=400)
        return _to_response(page)
    return _to_response(invitation_page.accepted_page(invitation))


def _describe(error: ValidationFailed) -> str:
    message = error.fields[0].message if error.fields else error.message
    return message[:1].upper() + message[1:]


def _to_response(html: "Html") -> RawResponse:
    return RawResponse(html.body, HTML, html.headers, status=html.status)
