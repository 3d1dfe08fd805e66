"""Rules of agents' events: their bounds, and what may be stated about time (CONTRACT 11.12)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

MAX_LATENCY_MS: Final = 86_400_000  # a day
MAX_ATTRIBUTES_BYTES: Final = 8_192
MAX_EVENT_TYPE_LENGTH: Final = 128
EVENT_TYPE_PATTERN: Final = r"[a-z0-9_]+(?:\.[a-z0-9_]+)+"


class AgentEventStatus(StrEnum):
    """How what an agent did ended."""

    OK = "ok"
    ERROR = "error"
