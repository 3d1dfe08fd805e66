"""The keys of documents, and which document each kind of key has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from attestlab.core.errors import ValidationFailed
from attestlab.core.json_types import JsonObject
from attestlab.risk.logins.crowd_documents import CrowdActivity, SourceActivity
from attestlab.risk.logins.user_documents import FailureHistory, UserProfile

DetectorDocument = UserProfile | FailureHistory | SourceActivity | CrowdActivity


class DocumentKey(NamedTuple):
    """The name of a document within its tenant."""

    kind: str
    value: str


class DocumentStore(Protocol):
    """Holds one tenant's documents; the service's is a table, a backtest's a dict."""

    def load(self, keys: tuple[DocumentKey, ...]) -> Mapping[DocumentKey, DetectorDocument]:
        """Return the documents of those keys that have one."""

    def save(self, documents: Mapping[DocumentKey, DetectorDocument]) -> None:
        """Replace these documents."""


_TYPES: dict[str, type[DetectorDocument]] = {
    "user": UserProfile,
    "failures": FailureHistory,
    "address": SourceActivity,
    "device": SourceActivity,
    "network": SourceActivity,
    "client": CrowdActivity,
    "country": CrowdActivity,
    "tenant": CrowdActivity,
}
KINDS = tuple(_TYPES)


def document_from_json(kind: str, stored: JsonObject) -> DetectorDocument:
    """Read the JSON form of a document (`document.to_json()`).

    Raises:
        ValidationFailed: there is no such kind of document.
    """
    if kind not in _TYPES:
        raise ValidationFailed(f"{kind!r} is no kind of document; use one of {', '.join(KINDS)}.")
    return _TYPES[kind].from_json(stored)


def expires_at(document: DetectorDocument) -> datetime:
    """Return when a document may be dropped, because no score depends on it any more."""
    return datetime.fromtimestamp(document.expires_at_ms / 1000, UTC)


def find_current(
    documents: Mapping[DocumentKey, DetectorDocument], key: DocumentKey, at_ms: int
) -> DetectorDocument | None:
    """Return the document of a key, unless it had expired at that moment: who was away for so long is new.

    The time is that of the login, so a past that is learnt today gives the documents of a life through it. When a
    store deletes an expired document makes no difference.
    """
    document = documents.get(key)
    return None if document is None or document.expires_at_ms < at_ms else document


class MemoryDocuments:
    """Documents in a dict, for backtests and tests."""

    def __init__(self) -> None:
        self.documents: dict[DocumentKey, DetectorDocument] = {}

    def load(self, keys: tuple[DocumentKey, ...]) -> Mapping[DocumentKey, DetectorDocument]:
        """Return the documents of those keys that have one."""
        return {key: self.documents[key] for key in keys if key in self.documents}

    def save(self, documents: Mapping[DocumentKey, DetectorDocument]) -> None:
        """Replace these documents."""
        self.documents.update(documents)
