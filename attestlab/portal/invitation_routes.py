"""HTTP routes of the page that a mailed invitation leads to. It works without a script."""

from pydantic import ConfigDict, Field

from attestlab.core.errors import NotFound, PermissionDenied, ValidationFailed
from attestlab.core.shapes import In
from attestlab.delivery.share_links import Links
from attestlab.orgs.members import People
from attestlab.portal.page_forms import PRIVATE_FORM, PRIVATE_PAGE, describe_error, to_response
from attestlab.web.executor import Executor
from attestlab.web.page_origin import is_own_origin
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

routes = Routes("portal")


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
    **PRIVATE_PAGE,
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
        return to_response(invitation_page.unusable_page())
    return to_response(invitation_page.form_page(invitation, query.token))


@routes.post(
    "/invitations/accept",
    scope=PUBLIC,
    **PRIVATE_FORM,
    raises=(NotFound, PermissionDenied),
)
async def send_invitation_form(
    request: Request, body: InvitationForm, people: People, links: Links, executor: Executor
) -> RawResponse:
    """Accept an invitation with the form of its page.

    A form that another page sent gets 403. The page says what is wrong with the name or the password.
    """
    from attestlab.portal import invitation_page

    try:
        invitation = await executor.read(people.find_invitation, body.token)
        if not is_own_origin(request.header("Origin"), request.header("Host"), links.portal_url):
            problem = "This form was sent from another page. Send it from here."
            return to_response(invitation_page.form_page(invitation, body.token, problem=problem, status=403))
        prepared = await executor.hash_password(people.prepare_join, body.token, body.password)
        await executor.write(lambda tx: people.join(prepared, name=body.name, tx=tx))
    except NotFound:
        return to_response(invitation_page.unusable_page())
    except ValidationFailed as error:
        problem = describe_error(error)
        page = invitation_page.form_page(invitation, body.token, name=body.name, problem=problem, status=400)
        return to_response(page)
    return to_response(invitation_page.accepted_page(invitation))
