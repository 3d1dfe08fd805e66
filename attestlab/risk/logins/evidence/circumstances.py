"""A login together with what the documents knew when it happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from attestlab.risk.logins.login import Login, classify_client, fingerprint
from attestlab.risk.logins.places import Locator
from attestlab.risk.logins.state.crowd_activity import CrowdActivity
from attestlab.risk.logins.state.documents import Document, Key
from attestlab.risk.logins.state.failure_history import FailureHistory
from attestlab.risk.logins.state.source_activity import SourceActivity
from attestlab.risk.logins.state.user_profile import MISSING, UserProfile

SOURCES_OF_ONE = ("device", "address")
SOURCES = (*SOURCES_OF_ONE, "network")
CROWDS = ("client", "country", "tenant")
_TENANT = Key("tenant", "")


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

    login: Login
    at_ms: int
    user: int
    country: str | None
    values: dict[str, int | None]
    keys: dict[str, Key]
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


def find_keys(login: Login, locator: Locator) -> dict[str, Key]:
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
    return {**{kind: Key(kind, value) for kind, value in found.items() if value}, "tenant": _TENANT}


def describe_login(login: Login, keys: dict[str, Key], documents: Mapping[Key, Document]) -> Circumstances:
    """Assemble the circumstances of a login."""
    values = {kind: fingerprint(key.value) for kind, key in keys.items() if kind not in ("user", "failures", "tenant")}
    profile, failures = documents.get(keys["user"]), documents.get(keys["failures"])
    return Circumstances(
        login=login,
        at_ms=login.at_ms,
        user=fingerprint(login.subject_id),
        country=keys["country"].value if "country" in keys else None,
        values={
            "device": values.get("device", MISSING),
            **{name: values.get(name) for name in ("address", "network", "country", "client")},
        },
        keys=keys,
        profile=profile if isinstance(profile, UserProfile) else UserProfile(),
        failures=failures if isinstance(failures, FailureHistory) else FailureHistory(),
        sources={kind: _source(documents.get(keys[kind])) for kind in SOURCES if kind in keys},
        crowds={kind: _crowd(documents.get(keys[kind])) for kind in CROWDS if kind in keys},
    )


def _source(document: Document | None) -> SourceActivity:
    return document if isinstance(document, SourceActivity) else SourceActivity()


def _crowd(document: Document | None) -> CrowdActivity:
    return document if isinstance(document, CrowdActivity) else CrowdActivity()
