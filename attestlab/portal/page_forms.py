"""Forms of pages: what is wrong with one that was sent, in words for the person who sent it."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict, TypeVar

from pydantic import BaseModel

from attestlab.core.errors import (
    AttestLabError,
    BillingLimit,
    Conflict,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    ValidationFailed,
)
from attestlab.web.problems import http_status
from attestlab.web.response import HTML, RawResponse
from attestlab.web.routing.routes import Idempotency
from attestlab.web.validation import validate_document

if TYPE_CHECKING:
    from attestlab.portal.layout import Html


class PageOptions(TypedDict):
    """The options of a route for a page that one person sees."""

    cache_control: str
    page: bool
    secret: bool
    produces: Mapping[str, object]


class FormOptions(PageOptions):
    """The options of a route for a form of such a page."""

    web_form: bool
    idempotency: Idempotency
    body_limit: int


Result = TypeVar("Result")
Model = TypeVar("Model", bound=BaseModel)
TOKEN_INVALID: Final = "token_invalid"  # the reason of the error about a mailed link that no longer works
FOREIGN_FORM: Final = "foreign_form"  # the reason of the error about a form that no page of ours has sent
PRIVATE_PAGE: Final[PageOptions] = {
    "cache_control": "no-store",
    "page": True,
    "secret": True,
    "produces": {"text/html": str},
}
PRIVATE_FORM: Final[FormOptions] = {
    **PRIVATE_PAGE,
    "web_form": True,
    "idempotency": "none",
    "body_limit": 16 * 1024,
}
_EXPLAINED: Final = (
    BillingLimit,
    Conflict,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    ValidationFailed,
)


class FormProblem(NamedTuple):
    """What is wrong with a form that was sent: a sentence for its page, the status of the page, and why.

    `reason` is that of the error's details.
    """

    text: str
    status: int
    reason: str = ""


async def try_form(job: Awaitable[Result]) -> Result | FormProblem:
    """Do what a form asks for; an error that the person can correct becomes a problem, which the page shows."""
    try:
        return await job
    except _EXPLAINED as error:
        return FormProblem(describe_error(error), http_status(error), str(error.details.get("reason", "")))


def read_form(model: type[Model], values: Mapping[str, object]) -> Model:
    """Validate what a form sent by the rules of the API's own model; the message names the field.

    Raises:
        ValidationFailed: a field is missing or wrong.
    """
    try:
        return validate_document(model, values)
    except ValidationFailed as error:
        fault = error.fields[0]
        label = fault.field.strip("/").replace("_", " ").capitalize()
        raise ValidationFailed.of(fault.field, fault.code, f"{label}: {fault.message}") from None


def describe_error(error: AttestLabError) -> str:
    """Describe an error for a page: the message of the first wrong field, or its own."""
    fields = error.fields if isinstance(error, ValidationFailed) else ()
    message = fields[0].message if fields else error.message
    return message[:1].upper() + message[1:]


def to_response(html: Html) -> RawResponse:
    """Return a rendered page as the response of a route."""
    return RawResponse(html.body, HTML, html.headers, status=html.status)


def redirect(target: str, *, cookie: str | None = None) -> RawResponse:
    """Lead the browser to another page with a GET, as after a form; `cookie` is a `Set-Cookie` on the way."""
    headers = {"Location": target} if cookie is None else {"Location": target, "Set-Cookie": cookie}
    return RawResponse(b"", HTML, headers, status=303)
