"""Every query about sessions and tokens; columns are named, values are parameters."""

from __future__ import annotations

from typing import Any

from attestlab.identity.tables import RefreshToken, Session, TokenKey

token_keys: Any = TokenKey.__table__  # type: ignore[attr-defined]  # SQLModel sets it on every table class
sessions: Any = Session.__table__  # type: ignore[attr-defined]
refresh_tokens: Any = RefreshToken.__table__  # type: ignore[attr-defined]
