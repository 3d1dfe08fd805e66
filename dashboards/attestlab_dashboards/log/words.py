"""Words that the panes share: names of entry types, shortened hashes, downloads."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab.log.entries import EntryType
from attestlab.portal.rules import shorten_middle
from attestlab_dashboards import icons
from attestlab_dashboards.formats import ago, day
from attestlab_dashboards.log.comparison import Change
from attestlab_dashboards.safe import html
from attestlab_dashboards.widgets import Tone, pill


class TypeWords(NamedTuple):
    """How an entry type reads: a word on a pill with its tone and icon, and what such an entry is."""

    word: str
    tone: Tone
    icon: str
    noun: str


TYPES: Final[Mapping[str, TypeWords]] = {
    EntryType.MINTED: TypeWords("minted", "good", "plus", "a mint"),
    EntryType.ATTESTATION_STATUS: TypeWords("ended", "bad", "cross", "the end of an attestation"),
    EntryType.RECEIPT_MINTED: TypeWords("receipt", "good", "plus", "a mint of a receipt"),
    EntryType.RECEIPT_STATUS: TypeWords("revoked", "bad", "cross", "the revocation of a receipt"),
    EntryType.KEY_STATUS: TypeWords("key", "info", "key", "a change of a key"),
    EntryType.ISSUER_STATUS: TypeWords("issuer", "warn", "issuers", "a change of an issuer"),
    EntryType.STATUS_LIST: TypeWords("status list", "calm", "document", "a status list"),
    EntryType.AGENT_STATUS: TypeWords("agent", "warn", "agents", "a change of an agent"),
    EntryType.AGENT_KEY: TypeWords("agent key", "info", "key", "a change of an agent's key"),
    EntryType.DELEGATION_STATUS: TypeWords("delegation", "info", "agents", "a delegation or its end"),
    EntryType.RUN_COMPLETED: TypeWords("run", "good", "check", "the end of a run"),
}
_UNKNOWN: Final = TypeWords("entry", "calm", "document", "an entry of another type")


def type_pill(kind: str) -> Markup:
    """Draw the type of an entry."""
    words = TYPES.get(kind, _UNKNOWN)
    return pill(words.word, words.tone, words.icon)


def describe_type(kind: str) -> TypeWords:
    """Return the words of an entry type."""
    return TYPES.get(kind, _UNKNOWN)


def shorten_hash(value: str) -> str:
    """Shorten a hash to its first eight and last six digits.

    >>> shorten_hash("sha256:" + "0123456789" * 6 + "abcd")
    '01234567…89abcd'
    """
    return shorten_middle(value.removeprefix("sha256:"), 8, 6)


def download(label: str, name: str, content: bytes, *, primary: bool = False) -> Markup:
    """Draw a link that saves a file; the file is in the link, as base64, which no text can leave."""
    return html(
        '<a class="btn sm{primary}" download="{name}" href="data:application/octet-stream;base64,{content}">'
        "{icon}{label}</a>",
        primary=" primary" if primary else "",
        name=name,
        content=base64.b64encode(content).decode(),
        icon=icons.draw("download"),
        label=label,
    )


def tell_since(change: Change) -> str:
    """Tell since when the heads are compared: the last look of this browser, or the day of the older head."""
    if change.seen_at is not None:
        return f"you last looked, {ago(change.seen_at, change.now)}"
    return name_older_head(change)


def name_older_head(change: Change) -> str:
    """Name the older head by the day of its last entry."""
    return "an earlier head" if change.older.at is None else day(change.older.at, change.now)
