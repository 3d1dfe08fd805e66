"""The numbers of the detector, each with its reason. They were tuned on worlds of other seeds than those reported.

Evidence is the natural logarithm of a likelihood ratio: 0.7 doubles the odds of an attack, 2.3 makes them ten times.
"""

from __future__ import annotations

from typing import Final

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

# The ladder of CONTRACT section 8: failures in the last hour and the score that they give.
LADDER: Final = ((20, 90), (10, 70), (5, 50), (0, 10))
LADDER_WINDOW_MS: Final = HOUR_MS
MIN_BURST = 5  # failures within the window: the first step of the ladder
ELEVATED, HIGH, CRITICAL = 50, 70, 90  # where the levels begin; a success from ELEVATED on teaches nothing

# Likelihood ratio of a login's values. Shares of a user's logins by the nearest value that the user had before:
# the address, else its network, else its country, else none of them (Wiefling et al. find new countries in 1-3 %).
ADDRESS_SHARE, NETWORK_SHARE, COUNTRY_SHARE, ELSEWHERE_SHARE = 0.50, 0.30, 0.17, 0.03
NEW_DEVICE_SHARE = 0.04  # of a user's logins on a device that the user did not have before
MISSING_DEVICE_SHARE = 0.07  # of all logins without a device id
NEW_CLIENT_SHARE = 0.08  # of a user's logins with a browser or system that the user did not have before
MIN_CLIENT_SHARE = 0.10  # a rare client is no sign of innocence
KNOWN_DEVICE_EVIDENCE = -4.0  # the user's device speaks against an attacker with any other value
MIN_PLACE_EVIDENCE = -3.0
FULL_PROFILE_DAYS = 2.0  # with as many days of history, strangeness counts half
STRANGE_EVIDENCE = 1.0  # from here on, a failure is a stranger's
MAX_STRANGENESS = 8.0
SUCCESS_WEIGHT = 0.65  # most strange successes are innocent
FAILURE_WEIGHT = 0.42  # people rarely fail from where they never were
# Strange values alone become no signal: a new laptop abroad has less than 60. From the ladder's first step on they
# count a fifth, so that the strangest are still first among the logins from 50 to 60.
FULL_VALUES_EVIDENCE, MAX_VALUES_EVIDENCE = 2.2, 2.59
BEYOND_FULL_WEIGHT = 0.2

# Distinct strangers at a source, against those who were expected there.
STRANGERS_WINDOW_MS: Final = 3 * DAY_MS
MIN_STRANGERS = 2  # one user alone is no spray
EXPECTED_STRANGERS = 0.3  # at a source without a history
EXPECTED_OF_NEWCOMERS = 0.12  # of users who began to use the source: some mistype first
EXPECTED_OF_USERS = 0.01  # of users who are known there
MAX_SPRAY_EVIDENCE = 5.0

# The values of a success this strange count as known only after some days, or once they are seen with a known value.
PROBATION_EVIDENCE = 2.0
PROBATION_MS: Final = 3 * DAY_MS
FLAGGED_PROBATION_MS: Final = 7 * DAY_MS  # of a success that only its values flagged: a thief is gone by then

# Strangers at the tenant, or with one client or country, against the same places' earlier days.
SURGE_WINDOWS: Final = (("slots", 6), ("hours", 6), ("hours", 24))  # an hour, a quarter of a day, a day
MIN_SURGE_SIGNIFICANCE = 4.0  # log likelihood ratio against chance; nine counts are compared
DEFAULT_STRANGER_RATIO = 0.01  # strangers' failures for each success, before three days of history
MIN_STRANGER_RATIO = 0.001  # however quiet the days were
EXPECTED_IN_SURGE = 0.5
EXPECTED_OF_STRANGE = 0.5  # of successes with strange values: who comes with a new device mistypes first
MAX_SURGE_EVIDENCE = 4.0
MAX_BROAD_FAILURES = 3  # strange failures of one user in a day; more are no breadth-first attack
MAX_BROAD_TRIES = 2  # failures of one user within an hour; the same

# Low and slow: strange failures of one user, at different times over days.
SLOW_WINDOW_MS: Final = 7 * DAY_MS
SLOW_SLOT_MS: Final = 90 * MINUTE_MS  # failures within one slot, from one network, count once
EXPECTED_SLOW_TRIES = 0.35
REPEATED_TRY_WEIGHT = 0.5  # of a try from a network that tried before, or from another one at the same time
MAX_SLOW_EVIDENCE = 4.0

# A login from the source of an earlier flagged success, and a success after a burst of failures.
ECHO_WINDOW_MS: Final = 3 * DAY_MS
MIN_ECHO_EVIDENCE = 0.7  # of an attack, when the success was flagged; the ladder and strange values do not echo
MAX_ECHO_EVIDENCE = 2.6  # else as strong as the evidence then

# Travel: faster than an airliner, over more than a short flight (Microsoft Entra and Sentinel use 900-1,000 km/h).
MAX_SPEED_KMH = 950.0
MIN_TRAVEL_KM = 500.0
TRAVEL_WINDOW_MS: Final = DAY_MS
TRAVEL_EVIDENCE = 1.4  # beside strange values, which are its condition
TRAVEL_AFTER_FAILURE_EVIDENCE = 0.7
COMMON_EXIT_USERS = 2  # an address with as many known users is an office, a carrier or a VPN exit

# Device farm: one device, many accounts, several networks.
FARM_WINDOW_MS: Final = 14 * DAY_MS
MIN_FARM_ACCOUNTS, MIN_FARM_NETWORKS = 4, 3
FARM_WEIGHT = 1.25  # of the logarithm of accounts x networks / 4
MAX_FARM_EVIDENCE = 4.5

# What documents remember. Each stays below MAX_DOCUMENT_BYTES as JSON.
MAX_DOCUMENT_BYTES = 4096
USER_TTL_MS: Final = 180 * DAY_MS
FAILURES_TTL_MS: Final = 10 * DAY_MS
SOURCE_TTL_MS: Final = 45 * DAY_MS
