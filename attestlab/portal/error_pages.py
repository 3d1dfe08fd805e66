"""Errors as pages for people: what happened, whether it is dangerous, one next step, and the request id.

Programs get the envelope of `attestlab.web.problems`; the page shows the same code and id.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from attestlab.portal import assets
from attestlab.portal.layout import NOT_INDEXED, Html, render_page
from attestlab.portal.messages import AnswerTone
from attestlab.portal.page_forms import FOREIGN_FORM
from attestlab.web.problems import ErrorEnvelope

MAX_DEPTH = 20


class ErrorWords(NamedTuple):
    """The texts of a status: `icon` is one of `icons.html`; `can_retry` if the same address may work later."""

    icon: str
    tone: AnswerTone
    headline: str
    text: str
    can_retry: bool = False


WORDS: Final = {
    404: ErrorWords(
        "search",
        AnswerTone.QUIET,
        "There is nothing at this address",
        "An attestation has an address such as /a/0193b5a0-…-89ab. Compare yours with what you"
        " were given, character by character. If it is the same, do not rely on it.",
    ),
    405: ErrorWords(
        "note",
        AnswerTone.QUIET,
        "This address is for programs",
        "It takes another method than a browser's. Nothing was changed.",
    ),
    410: ErrorWords(
        "note",
        AnswerTone.QUIET,
        "This was here, and was removed",
        "Its publisher has taken it off these pages. Nothing else will have its address.",
    ),
    429: ErrorWords(
        "clock",
        AnswerTone.NOTE,
        "Please wait",
        "Too many requests came from your address. Nothing is wrong with what you looked at, and nothing was lost.",
        can_retry=True,
    ),
    500: ErrorWords(
        "wrench",
        AnswerTone.BAD,
        "The service made a mistake",
        "It broke off and recorded why. An attestation is neither better nor worse for it: try again, or verify its"
        " proof bundle offline.",
        can_retry=True,
    ),
    503: ErrorWords(
        "wrench",
        AnswerTone.NOTE,
        "The service cannot answer right now",
        "Its records are out of reach for a moment. An attestation is neither better nor worse for it, and nothing was"
        " lost.",
        can_retry=True,
    ),
}
# What is not found below these paths is no attestation.
_NOT_FOUND_BELOW: Final = {
    "/u/": ErrorWords(
        "search",
        AnswerTone.QUIET,
        "There is no page of this name",
        "No account has this username, or its owner keeps the page private. Compare the address with what you were"
        " given.",
    ),
    "/blog/": ErrorWords(
        "search",
        AnswerTone.QUIET,
        "There is no post at this address",
        "Compare the address with what you were given, or look through all posts at /blog.",
    ),
    "/inbox/": ErrorWords(
        "search",
        AnswerTone.QUIET,
        "This is not in your inbox",
        "It was delivered to another account, or the address is incomplete. Your inbox lists all that you received.",
    ),
}
_OTHER: Final = ErrorWords("note", AnswerTone.QUIET, "This request was refused", "Nothing was changed.")
# Inside of the pages of 429, 500 and 503, because a request for the style sheet would end in the same way.
_STYLE: Final = assets.read_asset("page.css").content.decode("utf-8")
_UNAUTHORIZED: Final = ErrorWords(
    "note", AnswerTone.QUIET, "This address needs a key", "Programs send it in a header. Public pages need none."
)
_FOREIGN_FORM: Final = ErrorWords(
    "note",
    AnswerTone.QUIET,
    "This form was not sent from its page",
    "Nothing was changed. Go back, load the page again, and send the form from there.",
)


def error_page(envelope: ErrorEnvelope, *, path: str, path_prefix: str) -> Html:
    """Render the page of an error.

    `path` is the path of the request, from which the page's links lead back; `path_prefix` is what a proxy removed.
    """
    status = envelope.http_status
    words = _choose_words(envelope, path)
    headline, text = _with_wait(words, envelope)
    html = render_page(
        "error.html",
        status=status,
        root=_root_from(path, path_prefix),
        inline_css=_STYLE if words.can_retry else "",
        words=words,
        headline=headline,
        text=text,
        code=envelope.code,
        message=envelope.message,
        shows_message=status not in WORDS,
        request_id=str(envelope.details.get("request_id", "")),
    )
    return html._replace(headers={**html.headers, **NOT_INDEXED})


def _choose_words(envelope: ErrorEnvelope, path: str) -> ErrorWords:
    if envelope.details.get("reason") == FOREIGN_FORM:
        return _FOREIGN_FORM
    if envelope.http_status == 404:
        return next((words for below, words in _NOT_FOUND_BELOW.items() if path.startswith(below)), WORDS[404])
    return _UNAUTHORIZED if envelope.http_status in (401, 403) else WORDS.get(envelope.http_status, _OTHER)


def _with_wait(words: ErrorWords, envelope: ErrorEnvelope) -> tuple[str, str]:
    """Complete headline and text of a status with the time after which the request may work."""
    if envelope.retry_after_ms is None:
        return words.headline, words.text
    wait = _format_wait(envelope.retry_after_ms)
    if envelope.http_status == 429:
        return f"{words.headline} {wait}", words.text
    return words.headline, f"{words.text} Try again in {wait}."


def _root_from(path: str, path_prefix: str) -> str:
    """Build the relative address of the first page; from very deep paths the absolute one, to keep pages small."""
    depth = path.count("/") - 1
    return f"{path_prefix}/" if depth > MAX_DEPTH else "../" * depth or "./"


def _format_wait(wait_ms: int) -> str:
    seconds = max(1, math.ceil(wait_ms / 1000))
    if seconds < 120:
        return f"{seconds} second" + "s" * (seconds > 1)
    return f"{math.ceil(seconds / 60)} minutes"
