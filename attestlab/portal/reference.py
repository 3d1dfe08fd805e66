"""The API reference: OpenAPI shown by a viewer that is part of the package and loads nothing from elsewhere."""

from __future__ import annotations

from typing import Final

from attestlab.portal.layout import Html, render_page

# The viewer sets inline styles and reads /openapi.json; it needs no `unsafe-eval`. Requests that a reader tries
# out go to this host only.
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


def reference_page() -> Html:
    """Render the page of the API reference, the same for every reader."""
    html = render_page("docs.html", root="./")
    return html._replace(headers={**html.headers, "Content-Security-Policy": _POLICY})
