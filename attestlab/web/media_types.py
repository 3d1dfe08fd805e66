"""Content negotiation: which media type an Accept header prefers (RFC 9110 section 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

_JSON, _HTML = "application/json", "text/html"
_WEIGHT = re.compile(r"[01](\.[0-9]{0,3})?")


def prefers_json(accept: str | None) -> bool:
    """Whether an Accept header prefers JSON to HTML; without a preference the client gets HTML.

    >>> prefers_json("application/json"), prefers_json("text/html,application/json;q=0.9"), prefers_json("*/*")
    (True, False, False)
    """
    weights = _parse_weights(accept)
    return _weight_of(weights, _JSON) > _weight_of(weights, _HTML)


def prefers_html(accept: str | None) -> bool:
    """Whether an Accept header prefers HTML to JSON, as browsers do; without a preference the client gets JSON.

    >>> prefers_html("text/html,application/xhtml+xml,*/*;q=0.8"), prefers_html("*/*"), prefers_html(None)
    (True, False, False)
    """
    weights = _parse_weights(accept)
    return _weight_of(weights, _HTML) > _weight_of(weights, _JSON)


def choose_media_type(accept: str | None, offered: Sequence[str]) -> str:
    """Choose the offered media type that an Accept header prefers, and of equal ones, or if it takes none, the first.

    >>> offered = ["application/vc+jwt", "image/png", "image/svg+xml"]
    >>> [choose_media_type(each, offered) for each in (None, "text/html", "image/*", "image/png;q=0.5,image/svg+xml")]
    ['application/vc+jwt', 'application/vc+jwt', 'image/png', 'image/svg+xml']
    """
    weights = _parse_weights(accept)
    return max(offered, key=lambda kind: _weight_of(weights, kind))


def _parse_weights(accept: str | None) -> dict[str, float]:
    return dict(_parse_weight(part) for part in (accept or "*/*").lower().split(","))


def _parse_weight(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip() for piece in part.split(";"))
    given = next((value[2:] for value in parameters if value.startswith("q=")), "1")
    return kind, float(given) if _WEIGHT.fullmatch(given) else 0.0


def _weight_of(weights: dict[str, float], kind: str) -> float:
    family = kind.partition("/")[0]
    return next((weights[name] for name in (kind, f"{family}/*", "*/*") if name in weights), 0.0)
