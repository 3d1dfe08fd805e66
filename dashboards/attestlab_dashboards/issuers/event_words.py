"""Types of events in words, as docs/events.md has them; a tip has the code."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab_dashboards.safe import html

_GROUPS: Final = ("team.", "security.", "billing.", "consumer.")  # that say nothing which the rest does not
_WORDS: Final = {
    "attestation.created": "Attestation minted",
    "attestation.superseded": "Attestation replaced",
    "verification.completed": "Verification valid",
    "key.compromised": "Key reported as lost",
    "security.api_key_compromised": "API key reported as lost",
    "billing.usage.threshold": "Usage threshold reached",
    "risk.signal.created": "Risk signal recorded",
    "receipt.created": "Receipt minted",
    "witness.decided": "Claim decided by votes",
    "run.completed": "Run ended",
    "*": "every event",
}


def write_event(type: str) -> str:
    """Write a type of events, or a filter of them.

    >>> write_event("verification.failed"), write_event("team.member_invited"), write_event("key.*")
    ('Verification failed', 'Member invited', 'every key event')
    """
    if type in _WORDS:
        return _WORDS[type]
    if type.endswith(".*"):
        return f"every {_split(type.removesuffix('.*'))} event"
    group = next((each for each in _GROUPS if type.startswith(each)), "")
    words = _split(type.removeprefix(group))
    return words[:1].upper() + words[1:]


def draw_event(type: str) -> Markup:
    """Draw a type of events in words, with its code as the tip."""
    return html('<span data-tip="{type}">{words}</span>', type=type, words=write_event(type))


def _split(type: str) -> str:
    return type.replace(".", " ").replace("_", " ")
