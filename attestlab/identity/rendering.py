"""The tokens of a session as their wire model."""

from attestlab.core.row_rendering import RowRenderer
from attestlab.identity import rules
from attestlab.identity.sessions import Tokens
from attestlab.identity.shapes import TokensOut

render_tokens = RowRenderer(
    TokensOut,
    Tokens,
    token_type=lambda _: "Bearer",
    expires_in=lambda _: rules.ACCESS_TOKEN_TTL_S,
    refresh_expires_in=lambda _: int(rules.REFRESH_TOKEN_TTL.total_seconds()),
)
