"""Sessions and their tokens as wire models."""

from attestlab.core.row_rendering import RowRenderer
from attestlab.identity import rules
from attestlab.identity.sessions import OpenSession, Tokens
from attestlab.identity.shapes import SessionOut, TokensOut
from attestlab.identity.tables import SessionRecord

render_tokens = RowRenderer(
    TokensOut,
    Tokens,
    token_type=lambda _: "Bearer",
    expires_in=lambda _: rules.ACCESS_TOKEN_TTL_S,
    refresh_expires_in=lambda _: int(rules.REFRESH_TOKEN_TTL.total_seconds()),
)
render_session = RowRenderer(SessionOut, OpenSession, parts={"row": SessionRecord})
