"""The numbers of a hard world, each with its source; "assumed" marks an order of magnitude without one."""

from __future__ import annotations

from dataclasses import dataclass

from attestlab.demos.risk_world.parameters import WorldParameters


@dataclass(frozen=True)
class HardParameters:
    """What a hard world has beside the people and attacks of `risk_world`. Rates are a day unless they say otherwise.

    Attacks begin at any time, the first day included. No attacker waits until a detector has learnt.
    """

    seed: int = 1
    users: int = 1500
    days: int = 40

    # Guests: accounts of a few logins ever. Wiefling et al. (TOPS 2022) count 33 M logins of 3.3 M users in a year, so
    # a mean of ten, with most users below it.
    guests_a_day: float = 25.0
    guest_visits: tuple[int, int] = (1, 3)
    guest_failure_share: float = 0.12  # first logins with a typo; 3-10 % in studies of daily use, more when rare
    # Mail programs log in at an interval with a stored password and send no device id; intervals of 1 to 15 minutes are
    # the choices that common programs offer.
    mail_programs: int = 4
    mail_program_minutes: tuple[float, float] = (1.0, 15.0)
    mail_program_days: tuple[int, int] = (2, 6)
    mail_program_stale_share: float = 0.5  # of them, whose password expires; assumed
    mail_program_stale_hours: tuple[float, float] = (0.5, 8.0)
    # Fingerprints that change: half of the browsers have another one within five days (Vastel et al., FP-STALKER).
    changing_share: float = 0.10  # users of a caller whose device id is a fingerprint; assumed
    fingerprint_days: float = 5.0
    # Addresses shared by hundreds: schools, dormitories and carriers (RFC 6269).
    crowds: int = 2
    crowd_sizes: tuple[int, int] = (150, 400)
    crowd_logins: float = 0.25  # of a member
    crowd_newcomer_share: float = 0.3  # a class that begins on one day
    crowd_typo_share: float = 0.08
    # Software whose values never repeat: apps that send a build or a random id with each login.
    unique_software_share: float = 0.03  # users of such a program; assumed
    # New computers: replaced after about four years; some are first used at a new place of work or home.
    new_laptop: float = 1 / 1400
    new_laptop_elsewhere_share: float = 0.5  # assumed
    moved_abroad_share: float = 0.3  # of those; assumed
    new_laptop_days: tuple[int, int] = (3, 12)
    # Forgotten passwords on a device or at a place that the user did not have: who uses a new one needs the password.
    forgotten_elsewhere: float = 0.001  # of a user; a third of the help-desk rate in `risk_world`, assumed
    forgotten_tries: tuple[int, int] = (3, 12)
    # A mail to users who were here once, long ago, with what they use now.
    mailed_guests: int = 250
    mailed_failure_share: float = 0.2  # assumed: a password that is used once a year is often wrong

    # Attacks: the number of campaigns in the span, and what each does.
    bursts: int = 3
    burst_tries: tuple[int, int] = (8, 60)
    burst_minutes: tuple[float, float] = (3.0, 50.0)
    single_source_guessings: int = 4  # low and slow, from one address: the tries of a person, not of a botnet
    single_source_tries: tuple[int, int] = (12, 40)
    single_source_minutes: tuple[float, float] = (15.0, 90.0)
    single_source_hits: float = 0.3
    # Stolen sessions and phished passwords (adversary in the middle, Microsoft 2022): one success and no failure.
    stolen_sessions: int = 20
    stolen_visits: tuple[int, int] = (1, 2)
    stolen_domestic_share: float = 0.5  # residential proxies in the victim's country are for sale; assumed
    stolen_browser_share: float = 0.5  # the kit copies the victim's user agent; assumed
    # Sprays of attackers who know country and browser of each victim, from a leak or a proxy page.
    informed_sprays: int = 1
    informed_users: tuple[int, int] = (50, 150)
    informed_hours: tuple[float, float] = (4.0, 72.0)
    guess_success_share: float = 0.01  # as in `risk_world`

    @property
    def world(self) -> WorldParameters:
        """The world below: its people, with campaigns from the first day on."""
        return WorldParameters(
            seed=self.seed, users=self.users, days=self.days, quiet_share=0.0, attack_scale=0.4, mail_campaigns=1
        )
