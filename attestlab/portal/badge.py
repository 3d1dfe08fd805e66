"""The badge of an attestation: a small SVG that other sites embed, linked to the page.

A copy of the picture proves nothing, so it names no claim and is revalidated at each use.
"""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.attestations.evidence_queries import CurrentIssuer
from attestlab.attestations.rules import Verdict
from attestlab.issuers.rules import KNOWN_BY
from attestlab.portal import assets, messages
from attestlab.portal.layout import Html, render_text
from attestlab.portal.messages import AnswerTone
from attestlab.portal.service import PageData

MAX_LINE_CHARS = 40
MIN_SQUEEZED_CHARS = 30  # a longer line is squeezed to the width of the badge
STYLE: Final = (
    ".card{fill:#fff;stroke:#e3e6eb}.word{fill:#16202e;font-size:12.5px;font-weight:600}.line,.muted{fill:#5a6678}"
    ".line{font-size:11px}.muted{font-weight:400}.good{fill:#17663d}.note{fill:#7a4d00}.bad{fill:#b3261e}"
    ".sign{fill:none;stroke:#fff;stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}"
    'text{font-family:Inter,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}'
    "@media(prefers-color-scheme:dark){.card{fill:#171e27;stroke:#2a333f}.word{fill:#e6eaf0}.line,.muted{fill:#9aa7b8}"
    ".good{fill:#6fd3a0}.note{fill:#f2c14e}.bad{fill:#ff9c94}.sign{stroke:#171e27}}"
)
_SIGNS: Final = {
    AnswerTone.GOOD: "M15.2 20.4l3.4 3.4 6.4-7.2",
    AnswerTone.NOTE: "M20 14.4v6.8M20 25.4v.1",
    AnswerTone.BAD: "M16 16l8 8M24 16l-8 8",
}
_STYLE_HASH: Final = assets.csp_hash(STYLE)
_HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src {_STYLE_HASH}; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",  # other sites embed it
    "X-Robots-Tag": "noindex, nofollow",
}


def render_badge(data: PageData | None) -> Html:
    """Render the badge of an attestation as verified now; None for an id that no attestation has."""
    evidence = None if data is None else data.verified.evidence
    verdict = Verdict.NOT_FOUND if data is None else data.verified.verdict
    words = messages.VERDICTS[verdict]
    line = "there is no such attestation"
    if evidence is not None:
        line = f"{_name_of(evidence.issuer)}, no. {evidence.attestation.log_index:,}"
    shown = line if len(line) <= MAX_LINE_CHARS else f"{line[: MAX_LINE_CHARS - 1]}…"
    text = render_text(
        "badge.svg",
        word=verdict.value.replace("_", " ").capitalize(),
        tone=words.tone,
        sign=_SIGNS[words.tone],
        line=shown,
        is_long=len(shown) >= MIN_SQUEEZED_CHARS,
        style=Markup(STYLE),
    )
    return Html(404 if evidence is None else 200, text.encode(), _HEADERS)


def _name_of(issuer: CurrentIssuer | None) -> str:
    known_by = None if issuer is None else KNOWN_BY.get(issuer.trust_tier)
    if issuer is None or known_by is None:
        return "unverified issuer"
    return issuer.name if known_by == "name" else issuer.domain
