"""How much more probable a login's values are for anyone else than for this user.

The likelihood ratio of Freeman et al. (NDSS 2016) and Wiefling et al. (TOPS 2022): for each feature, its share among
all users divided by its share for this user. A new address is compared by its network, a new network by its country.
The unit of a share is the user-day, so that a program that logs in every minute weighs no more than a person.

Impossible travel is two successes so far apart that no airliner connects them. By itself, it accuses users of VPNs and
roaming phones; vendors count nine of ten such alarms as false. So it needs a device and a network that are new for the
user. It is silent for countries of the user's past and for addresses that colleagues use, which are VPN exits, offices
and carriers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from attestlab.risk.logins.circumstances import Circumstances, LoginEvidence
from attestlab.risk.logins.parameters import (
    ADDRESS_SHARE,
    BEYOND_FULL_WEIGHT,
    COMMON_EXIT_USERS,
    COUNTRY_SHARE,
    DAY_MS,
    ELSEWHERE_SHARE,
    FAILURE_WEIGHT,
    FULL_PROFILE_DAYS,
    FULL_VALUES_EVIDENCE,
    HOUR_MS,
    KNOWN_DEVICE_EVIDENCE,
    MAX_SPEED_KMH,
    MAX_STRANGENESS,
    MAX_VALUES_EVIDENCE,
    MIN_BURST,
    MIN_CLIENT_SHARE,
    MIN_PLACE_EVIDENCE,
    MIN_TRAVEL_KM,
    MISSING_DEVICE_SHARE,
    NETWORK_SHARE,
    NEW_CLIENT_SHARE,
    NEW_DEVICE_SHARE,
    STRANGE_EVIDENCE,
    SUCCESS_WEIGHT,
    TRAVEL_AFTER_FAILURE_EVIDENCE,
    TRAVEL_EVIDENCE,
    TRAVEL_WINDOW_MS,
)
from attestlab.risk.logins.places import min_distance_km
from attestlab.risk.logins.user_documents import MAX_DAYS, MISSING

_SMOOTHING = 20.0  # user-days of a tenant without history


@dataclass(frozen=True, slots=True)
class Strangeness:
    """The logarithm of the ratio, by feature, and how well the user is known (0-1)."""

    place: float
    device: float
    client: float
    maturity: float
    has_known_values: bool

    @property
    def total(self) -> float:
        """The whole ratio, as far as the user's history is worth; at least 0."""
        return self.maturity * min(MAX_STRANGENESS, max(0.0, self._sum))

    @property
    def _sum(self) -> float:
        return self.place + self.device + self.client

    @property
    def is_stranger(self) -> bool:
        """Whether a failure with these values counts as a stranger's; every failure of an unknown user does."""
        return not self.has_known_values and (self.maturity == 0 or self._sum >= STRANGE_EVIDENCE)


def measure_strangeness(at: Circumstances) -> Strangeness:
    """Compare the login's values with the user's and with everyone's."""
    days = at.profile.count_active_days(at.at_ms)
    tenant_days = at.crowds["tenant"].count_user_days(at.at_ms) + _SMOOTHING
    return Strangeness(
        place=max(MIN_PLACE_EVIDENCE, _compare_place(at, min(days, MAX_DAYS), tenant_days)),
        device=_compare_device(at, min(days, MAX_DAYS)),
        client=_compare_client(at, tenant_days),
        maturity=days / (days + FULL_PROFILE_DAYS),
        has_known_values=at.has_known_device or at.knows("address"),
    )


def explain_strangeness(at: Circumstances, strangeness: Strangeness, failures: int) -> LoginEvidence:
    """Return the evidence of strange values, with the names of those that the user did not have before."""
    new = [name for name in ("device", "address", "network", "country", "client") if _is_new(at, name)]
    named = ", ".join(new) or "rare values"
    return LoginEvidence(
        "unusual_values",
        round(strangeness.total, 2),
        weigh_values(strangeness.total, failures, is_failure=at.login.is_failure),
        f"New for this user: {named}. These values are {_ratio(strangeness.total)} times as probable for another user.",
    )


def weigh_values(total: float, failures: int, *, is_failure: bool) -> float:
    """Return the strength of strange values as evidence.

    In a burst, the ladder's first step stands for as much as they say up to there: who has forgotten a password often
    needs it because the device is new.

    >>> weigh_values(2.0, 0, is_failure=False), weigh_values(8.0, 0, is_failure=False)
    (1.3, 2.59)
    >>> weigh_values(2.0, 6, is_failure=False), round(weigh_values(8.0, 6, is_failure=True), 2)
    (0.0, 0.23)
    """
    strength = (FAILURE_WEIGHT if is_failure else SUCCESS_WEIGHT) * total
    beyond = max(0.0, strength - FULL_VALUES_EVIDENCE)
    reduced = min(MAX_VALUES_EVIDENCE, strength - beyond + BEYOND_FULL_WEIGHT * beyond)
    return reduced if failures < MIN_BURST else max(0.0, reduced - FULL_VALUES_EVIDENCE)


def _ratio(logarithm: float) -> str:
    return f"{2.718281828**logarithm:,.1f}"


def _is_new(at: Circumstances, name: str) -> bool:
    return at.values[name] is not None and at.values[name] != MISSING and not at.knows(name)


def _compare_place(at: Circumstances, days: float, tenant_days: float) -> float:
    """Back off from address to network to country; the shares of the levels are parameters."""
    if at.values["address"] is None and at.values["country"] is None:
        return 0.0
    share = ELSEWHERE_SHARE
    for feature, weight in (("address", ADDRESS_SHARE), ("network", NETWORK_SHARE), ("country", COUNTRY_SHARE)):
        used = at.profile.count_days(feature, at.values[feature], at.at_ms)
        if used:
            of_all = at.sources[feature] if feature in at.sources else at.crowds[feature]
            share_of_all = (of_all.count_user_days(at.at_ms) + 0.5) / tenant_days
            share += weight * min(1.0, used / max(days, 1.0)) / min(1.0, share_of_all)
    return -log(share)


def _compare_device(at: Circumstances, days: float) -> float:
    device = at.values["device"]
    used = at.profile.count_days("device", device, at.at_ms)
    if device == MISSING:
        return -log((used + 0.05) / (days + 0.5) / MISSING_DEVICE_SHARE) if days else 0.0
    if used >= 1:
        return KNOWN_DEVICE_EVIDENCE
    return KNOWN_DEVICE_EVIDENCE / 2 if used else -log(NEW_DEVICE_SHARE)


def _compare_client(at: Circumstances, tenant_days: float) -> float:
    if "client" not in at.crowds or at.knows("client"):
        return 0.0
    share_of_all = at.crowds["client"].count_user_days(at.at_ms) / tenant_days
    return log(max(MIN_CLIENT_SHARE, share_of_all) / NEW_CLIENT_SHARE)


def find_impossible_travel(at: Circumstances) -> LoginEvidence | None:
    """Return the evidence of a journey from the user's last place that is too fast, if anything corroborates it."""
    last = at.profile.last_visit(at.at_ms)
    if last is None or at.country is None or at.at_ms - last.at_ms > TRAVEL_WINDOW_MS or not _is_corroborated(at):
        return None
    distance_km = min_distance_km(last.country, at.country)
    if distance_km is None or distance_km < MIN_TRAVEL_KM:
        return None
    hours = max((at.at_ms - last.at_ms) / HOUR_MS, 0.1)
    if distance_km / hours < MAX_SPEED_KMH:
        return None
    has_failures = bool(at.failures.find_strange(at.at_ms, DAY_MS))
    text = f"At least {distance_km:,.0f} km from {last.country} to {at.country} within {hours:.1f} h, on a new device."
    strength = TRAVEL_EVIDENCE + TRAVEL_AFTER_FAILURE_EVIDENCE * has_failures
    return LoginEvidence("impossible_travel", round(distance_km / hours), strength, text)


def _is_corroborated(at: Circumstances) -> bool:
    """Whether device, network and country are all new for the user, and the address is not a common exit."""
    if at.has_known_device or at.knows("network") or at.knows("country"):
        return False
    return "address" not in at.sources or at.sources["address"].count_users(at.at_ms) < COMMON_EXIT_USERS
