"""Innocent people whose logins look like an attacker's to plain rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from attestlab.demos.risk_world.parameters import OTHER_COUNTRIES
from attestlab.demos.risk_world.population import Resident
from benchmarks.detection.hard_world.records import HardKind, HardLogin
from benchmarks.detection.hard_world.sources import FAILURE, SUCCESS, Drawing, Source


def _log_in(
    drawing: Drawing, source: Source, subject: str, at: datetime, kind: HardKind, failure_share: float
) -> Iterator[HardLogin]:
    while drawing.happens(failure_share):
        yield source.make(subject, at, FAILURE, kind)
        at += timedelta(seconds=drawing.random.uniform(4, 40))
    yield source.make(subject, at, SUCCESS, kind)


def draw_guests(drawing: Drawing, _users: list[Resident]) -> Iterator[HardLogin]:
    """People who log in a few times ever, mostly with the same computer."""
    parameters = drawing.parameters
    for number in range(round(parameters.guests_a_day * parameters.days)):
        source, day = drawing.source(drawing.country()), drawing.random.uniform(0, parameters.days)
        for _ in range(drawing.random.randint(*parameters.guest_visits)):
            share, subject = parameters.guest_failure_share, f"guest-{number}"
            yield from _log_in(drawing, source, subject, drawing.moment(day), HardKind.GUEST, share)
            day += drawing.random.expovariate(1 / 9)


def draw_mail_programs(drawing: Drawing, users: list[Resident]) -> Iterator[HardLogin]:
    """Programs that log in at an interval for days, and still try after the password has changed."""
    parameters, random = drawing.parameters, drawing.random
    for user in random.sample(users, min(len(users), parameters.mail_programs)):
        source = replace(drawing.source(user.country, client="Thunderbird/140.0"), device=None)
        at, minutes = drawing.any_moment(days=6), random.uniform(*parameters.mail_program_minutes)
        expires = at + timedelta(days=random.randint(*parameters.mail_program_days))
        hours = random.uniform(*parameters.mail_program_stale_hours)
        ends = expires + timedelta(hours=hours * drawing.happens(parameters.mail_program_stale_share))
        while at < ends:
            yield source.make(user.subject_id, at, SUCCESS if at < expires else FAILURE, HardKind.MAIL_PROGRAM)
            at += timedelta(minutes=minutes * random.uniform(0.95, 1.05))


def draw_changing_fingerprints(drawing: Drawing, _users: list[Resident]) -> Iterator[HardLogin]:
    """Users whose device id is a fingerprint, which changes with updates and settings."""
    parameters = drawing.parameters
    for number in range(round(parameters.users * parameters.changing_share)):
        source, subject = drawing.source(drawing.country()), f"changing-{number}"
        for day in range(parameters.days):
            if drawing.happens(1 / parameters.fingerprint_days):
                source = replace(source, device=drawing.device())
            if drawing.happens(0.5):
                at, kind = drawing.moment(day), HardKind.CHANGING_FINGERPRINT
                yield from _log_in(drawing, source, subject, at, kind, parameters.world.typo_share)


def draw_crowds(drawing: Drawing, _users: list[Resident]) -> Iterator[HardLogin]:
    """Hundreds of people behind one address, some of whom begin on the same day."""
    parameters, random = drawing.parameters, drawing.random
    for crowd in range(parameters.crowds):
        place, beginning = drawing.source(drawing.country()), random.randrange(parameters.days)
        for number in range(random.randint(*parameters.crowd_sizes)):
            own = replace(place, device=drawing.device() if drawing.happens(0.8) else None, client=drawing.client())
            first = beginning if drawing.happens(parameters.crowd_newcomer_share) else 0
            for day in range(first, parameters.days):
                if drawing.happens(1.0 if day == first else parameters.crowd_logins):
                    subject, share = f"crowd-{crowd}-{number}", parameters.crowd_typo_share
                    yield from _log_in(drawing, own, subject, drawing.moment(day), HardKind.CROWDED_ADDRESS, share)


def draw_unique_software(drawing: Drawing, _users: list[Resident]) -> Iterator[HardLogin]:
    """Users of an app that sends a new device id and a new build with each login."""
    parameters = drawing.parameters
    for number in range(round(parameters.users * parameters.unique_software_share)):
        home, subject = drawing.source(drawing.country()), f"app-{number}"
        for day in range(parameters.days):
            if drawing.happens(0.6):
                network = drawing.random.choice((home.network, *drawing.networks.carriers[home.network.country]))
                address, client = network.draw_address(drawing.random), f"FieldApp 4.{drawing.random.randrange(10**6)}"
                source = Source(network, address, drawing.device(), client)
                at, kind = drawing.moment(day), HardKind.UNIQUE_SOFTWARE
                yield from _log_in(drawing, source, subject, at, kind, parameters.world.typo_share)


def draw_new_laptops(drawing: Drawing, users: list[Resident]) -> Iterator[HardLogin]:
    """New computers, at home, at a new home, or in another country; their users come back with them every day."""
    parameters, random = drawing.parameters, drawing.random
    for user in users:
        if not drawing.happens(parameters.new_laptop * parameters.days):
            continue
        is_elsewhere = drawing.happens(parameters.new_laptop_elsewhere_share)
        is_abroad = is_elsewhere and drawing.happens(parameters.moved_abroad_share)
        source = drawing.source(random.choice(OTHER_COUNTRIES) if is_abroad else user.country)
        if not is_elsewhere:
            source = replace(source, network=user.home, address=user.home.draw_address(random))
        first = random.randrange(user.first_day, parameters.days)
        for day in range(first, min(parameters.days, first + random.randint(*parameters.new_laptop_days))):
            for _ in range(random.randint(1, 2)):
                at, kind = drawing.moment(day), HardKind.NEW_LAPTOP
                yield from _log_in(drawing, source, user.subject_id, at, kind, parameters.world.typo_share)


def draw_forgotten_elsewhere(drawing: Drawing, users: list[Resident]) -> Iterator[HardLogin]:
    """Users who need their password on another machine, do not have it, reset it, and are there for some days."""
    parameters, random = drawing.parameters, drawing.random
    for user in users:
        if not drawing.happens(parameters.forgotten_elsewhere * parameters.days):
            continue
        source = drawing.source(user.country if drawing.happens(0.7) else random.choice(OTHER_COUNTRIES))
        day, kind = random.randrange(user.first_day, parameters.days), HardKind.FORGOTTEN_ELSEWHERE
        at = drawing.moment(day)
        for _ in range(random.randint(*parameters.forgotten_tries)):
            yield source.make(user.subject_id, at, FAILURE, kind)
            at += timedelta(seconds=random.uniform(5, 120))
        at += timedelta(minutes=random.uniform(3, 40))
        for _ in range(random.randint(1, 4)):
            yield source.make(user.subject_id, at, SUCCESS, kind)
            at += timedelta(hours=random.uniform(2, 20))


def draw_mailed_guests(drawing: Drawing, _users: list[Resident]) -> Iterator[HardLogin]:
    """People who were here once, and come again within an hour of a mail, with what they use now."""
    parameters, random = drawing.parameters, drawing.random
    sent = drawing.moment(random.uniform(parameters.days / 2, parameters.days))
    for number in range(parameters.mailed_guests):
        subject, country = f"mailed-{number}", drawing.country()
        yield drawing.source(country).make(subject, drawing.moment(random.uniform(0, 7)), SUCCESS, HardKind.GUEST)
        at, share = sent + timedelta(hours=random.random() ** 2), parameters.mailed_failure_share
        yield from _log_in(drawing, drawing.source(country), subject, at, HardKind.MAILED_GUEST, share)


PEOPLE = (
    draw_guests,
    draw_mail_programs,
    draw_changing_fingerprints,
    draw_crowds,
    draw_unique_software,
    draw_new_laptops,
    draw_forgotten_elsewhere,
    draw_mailed_guests,
)
