"""Every query about e-mails; columns are named, values are parameters."""

from __future__ import annotations

from typing import Any

from attestlab.mail.tables import Mail

mails: Any = Mail.__table__  # type: ignore[attr-defined]  # SQLModel sets it on every table class
