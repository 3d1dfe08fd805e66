"""A login together with what the documents knew when it happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from attestlab.risk.logins.documents import CrowdActivity, DetectorDocument, DocumentKey, SourceActivity, find_current
from attestlab.risk.logins.login import Login, classify_client
from attestlab.risk.logins.places import Locator
from attestlab.risk.logins.trace import LoginTrace
from attestlab.risk.logins.user_documents import MISSING, FailureHistory, UserProfile

SOURCES_OF_ONE = ("device", "address")
SOURCES = (*SOURCES_OF_ONE, "network")
CROWDS = ("client", "country", "tenant")
_TENANT = DocumentKey("tenant", "")


class LoginEvidence(NamedTuple):
    """One reason to suspect a login.

    `strength` is the natural logarithm of a likelihood ratio: how much more probable this is under an attack.
    """

    name: str
    value: float
    strength: float
    explanation: str


@dataclass(frozen=True, slots=True)
class Circumstances:
    """A login, the fingerprints of its values, and its documents; a missing document is an empty one."""

    login: LoginTrace
    at_ms: int
    user: int
    country: str | None
    values: dict[str, int | None]
    keys: dict[str, DocumentKey]
    profile: UserProfile
    failures: FailureHistory
    sources: dict[str, SourceActivity]
    crowds: dict[str, CrowdActivity]

    def knows(self, feature: str) -> bool:
        """Whether the user had a success with this login's value of a feature before."""
        return self.profile.is_known(feature, self.values[feature], self.at_ms)

    @property
    def has_known_device(self) -> bool:
        """Whether the login comes from a device of the user; a missing id is no device."""
        return self.values["device"] != MISSING and self.knows("device")


def find_keys(login: Login, locator: Locator) -> dict[str, DocumentKey]:
    """Return the keys of the documents that a login needs, by their kind; at most eight."""
    place = locator.locate(login.ip) if login.ip else None
    found = {
        "user": login.subject_id,
        "failures": login.subject_id,
        "device": login.device_id,
        "address": login.ip,
        "network": place and place.network,
        "client": classify_client(login.user_agent) if login.user_agent else None,
        "country": login.country or (place and place.country),
    }
    return {**{kind: DocumentKey(kind, value) for kind, value in found.items() if value}, "tenant": _TENANT}


def describe_login(login: LoginTrace, documents: Mapping[DocumentKey, DetectorDocument]) -> Circumstances:
    """Assemble the circumstances of a login; a document that had expired by then is a missing one."""
    found = {kind: find_current(documents, key, login.at_ms) for kind, key in login.keys.items()}
    profile, failures = found["user"], found["failures"]
    return Circumstances(
        login=login,
        at_ms=login.at_ms,
        user=login.user,
        country=login.country,
        values=login.values,
        keys=login.keys,
        profile=profile if isinstance(profile, UserProfile) else UserProfile(),
        failures=failures if isinstance(failures, FailureHistory) else FailureHistory(),
        sources={kind: _source(found[kind]) for kind in SOURCES if kind in found},
        crowds={kind: _crowd(found[kind]) for kind in CROWDS if kind in found},
    )


def _source(document: DetectorDocument | None) -> SourceActivity:
    return document if isinstance(document, SourceActivity) else SourceActivity()


def _crowd(document: DetectorDocument | None) -> CrowdActivity:
    return document if isinstance(document, CrowdActivity) else CrowdActivity()
