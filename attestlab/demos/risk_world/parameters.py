"""Every number of the generated world, with where it comes from.

They were written down before the detector had thresholds, and are not changed to make a detector look better.
"assumed" marks a number without a published source; it is a plausible order of magnitude, no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

# Shares of the users' home countries: an internationally used service with its centre in one country; assumed.
HOME_COUNTRIES = {
    **{"US": 0.30, "GB": 0.12, "DE": 0.12, "FR": 0.08, "IN": 0.08, "BR": 0.06, "ES": 0.05, "NL": 0.05, "PL": 0.05},
    **{"CA": 0.04, "AU": 0.03, "JP": 0.02},
}
# Hours that local time is ahead of UTC; one value a country is enough for daily habits.
UTC_OFFSETS = {
    **{"US": -6, "GB": 0, "DE": 1, "FR": 1, "IN": 5, "BR": -3, "ES": 1, "NL": 1, "PL": 1, "CA": -5, "AU": 10, "JP": 9},
}
# Countries only of travellers, VPN exits and attackers.
OTHER_COUNTRIES = ("IT", "TR", "TH", "MX", "SG", "AE", "ZA", "SE", "CH", "VN", "RU", "ID", "UA", "NG", "CN", "AR")


@dataclass(frozen=True)
class WorldParameters:
    """The size of a world, the habits of its people, and the attacks on them."""

    seed: int = 1
    users: int = 3000
    days: int = 60
    first_day: datetime = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday

    # People. Logins a day are log-normal over users; assumed, in the range of a tool used at work.
    logins_a_day: float = 1.2
    logins_spread: float = 0.7  # sigma of the logarithm
    weekend_share: float = 0.3
    joining_share: float = 0.15  # users who are new within the span
    second_device_share: float = 0.75
    office_share: float = 0.4  # users with an office, where they are on half of the working days
    office_sizes: tuple[int, int] = (5, 120)  # users behind one address
    mobile_share: float = 0.2  # logins through a carrier's shared addresses (RFC 6598); assumed
    carrier_addresses: int = 24  # of one carrier: thousands of users share an address (RFC 6269)
    home_address_days: float = 40.0  # mean life of a dynamic home address; weeks in Padmanabhan et al., IMC 2016
    networks_a_country: int = 4  # the largest access providers of a country hold most of its users

    # What innocent people do. Rates are for a login or a user-day.
    typo_share: float = 0.05  # 3-10 % of logins have a failure first, in published studies of password use
    second_typo_share: float = 0.25
    forgotten_a_day: float = (
        0.003  # about once a user-year, between the extremes of published help-desk figures; assumed
    )
    new_phone_a_day: float = 1 / 900  # a phone is replaced after about two and a half years
    new_phone_typo_share: float = 0.25  # a password typed on a new keyboard, without a password manager; assumed
    stale_retry_share: float = 0.35  # of resets, after which a phone keeps trying the old password; assumed
    stale_retry_minutes: tuple[float, float] = (4.0, 60.0)  # interval of mail and calendar clients; assumed
    stale_hours: tuple[float, float] = (1.0, 20.0)
    trip_a_day: float = 0.006  # about two trips a year
    trip_days: tuple[int, int] = (2, 10)
    vpn_share: float = 0.08  # users with a commercial VPN; surveys say 10-30 % have one, fewer use it at work
    vpn_login_share: float = 0.5
    private_share: float = 0.07  # users without a stable device id (private windows, deleted cookies); assumed
    private_login_share: float = 0.7
    shared_computer_share: float = 0.04  # users who log in at a computer of a school, library or ward; assumed
    missing_country_share: float = 0.02  # the caller's table does not know the address
    mail_campaigns: int = 2  # in the span: a mail brings many users within an hour
    mail_campaign_share: float = 0.25

    # Attacks: the number of campaigns of each kind in the span.
    stuffing_campaigns: int = 1
    spraying_campaigns: int = 1
    careful_spraying_campaigns: int = 2
    low_and_slow_campaigns: int = 3
    takeover_campaigns: int = 8
    travel_campaigns: int = 5
    farm_campaigns: int = 2
    quiet_share: float = 0.25  # of the span, before the first campaign: a detector has seen its people
    attack_scale: float = 1.0  # of the tries of a campaign; small worlds use less
    # Stuffing: leaked pairs from a botnet. Success is 0.1-2 % in vendors' reports; most names do not exist here.
    stuffing_tries: tuple[int, int] = (150, 500)
    stuffing_known_share: float = 0.3
    stuffing_addresses: tuple[int, int] = (20, 200)
    stuffing_minutes: tuple[float, float] = (20.0, 600.0)
    guess_success_share: float = 0.01  # Microsoft reports about 1 % of sprayed accounts (2020)
    # Spraying: one common password for many users, from few sources.
    spraying_users: tuple[int, int] = (80, 300)
    spraying_addresses: tuple[int, int] = (1, 4)
    spraying_hours: tuple[float, float] = (0.3, 12.0)
    # Careful spraying changes address, device and client with each try (Microsoft, 2020 and 2022).
    careful_users: tuple[int, int] = (80, 250)
    careful_hours: tuple[float, float] = (4.0, 72.0)
    domestic_share: float = 0.4  # campaigns that use residential proxies of the victims' own countries; assumed
    # Low and slow: one user, a try every few hours for days.
    slow_hours: tuple[float, float] = (2.0, 9.0)
    slow_tries: tuple[int, int] = (10, 40)
    # Takeover with a phished password: no failure before it, a few visits.
    takeover_visits: tuple[int, int] = (1, 4)
    # Device farm: one machine, many accounts, rented addresses.
    farm_accounts: tuple[int, int] = (8, 30)
    farm_networks: tuple[int, int] = (4, 10)
    farm_days: tuple[int, int] = (2, 8)
