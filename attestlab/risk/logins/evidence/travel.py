"""Impossible travel: two successes so far apart that no airliner connects them, with something else that is strange.

By itself, travel accuses users of VPNs and roaming phones; vendors count nine of ten such alarms as false. So it
needs a device and a network that are new for the user. It is silent for countries of the user's past and for
addresses that colleagues use, which are VPN exits, offices and carriers.
"""

from __future__ import annotations

from attestlab.risk.logins.distances import min_distance_km
from attestlab.risk.logins.evidence.circumstances import Circumstances, LoginEvidence
from attestlab.risk.logins.parameters import (
    COMMON_EXIT_USERS,
    DAY_MS,
    HOUR_MS,
    MAX_SPEED_KMH,
    MIN_TRAVEL_KM,
    TRAVEL_AFTER_FAILURE_EVIDENCE,
    TRAVEL_EVIDENCE,
    TRAVEL_WINDOW_MS,
)


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
    has_failures = any(at.at_ms - DAY_MS < each.at_ms <= at.at_ms for each in at.failures.strange)
    text = f"At least {distance_km:,.0f} km from {last.country} to {at.country} within {hours:.1f} h, on a new device."
    strength = TRAVEL_EVIDENCE + TRAVEL_AFTER_FAILURE_EVIDENCE * has_failures
    return LoginEvidence("impossible_travel", round(distance_km / hours), strength, text)


def _is_corroborated(at: Circumstances) -> bool:
    """Whether device, network and country are all new for the user, and the address is not a common exit."""
    if at.has_known_device or at.knows("network") or at.knows("country"):
        return False
    return "address" not in at.sources or at.sources["address"].count_users(at.at_ms) < COMMON_EXIT_USERS
