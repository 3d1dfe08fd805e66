"""Attackers beside those of `risk_world`: bursts, one patient address, stolen sessions, and sprays that know much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

from attestlab.demos.risk_world.population import Resident
from benchmarks.detection.hard_world.records import HardKind, HardLogin
from benchmarks.detection.hard_world.sources import FAILURE, SUCCESS, Drawing, Source

Draw = Callable[[Drawing, list[Resident], str], Iterator[HardLogin]]


def _draw_foreign_source(drawing: Drawing) -> Source:
    source = drawing.source(drawing.random.choice(sorted(drawing.networks.access)))
    return replace(source, device=None) if drawing.happens(0.4) else source


def draw_burst(drawing: Drawing, users: list[Resident], campaign: str) -> Iterator[HardLogin]:
    """Try many passwords of one user within an hour, from one address."""
    parameters, random = drawing.parameters, drawing.random
    victim, at, source = random.choice(users), drawing.any_moment(), _draw_foreign_source(drawing)
    tries, minutes = random.randint(*parameters.burst_tries), random.uniform(*parameters.burst_minutes)
    for number in range(tries):
        is_hit = number == tries - 1 and drawing.happens(0.1)
        yield source.make(victim.subject_id, at, SUCCESS if is_hit else FAILURE, HardKind.BURST, campaign)
        at += timedelta(minutes=random.expovariate(tries / minutes))


def draw_single_source_guessing(drawing: Drawing, users: list[Resident], campaign: str) -> Iterator[HardLogin]:
    """Try passwords of one user for hours or days from one address, below every limit of an hour."""
    parameters, random = drawing.parameters, drawing.random
    victim, at, source = random.choice(users), drawing.any_moment(days=2), _draw_foreign_source(drawing)
    tries = random.randint(*parameters.single_source_tries)
    for number in range(tries):
        is_hit = number == tries - 1 and drawing.happens(parameters.single_source_hits)
        outcome = SUCCESS if is_hit else FAILURE
        yield source.make(victim.subject_id, at, outcome, HardKind.SINGLE_SOURCE_GUESSING, campaign)
        at += timedelta(minutes=random.uniform(*parameters.single_source_minutes))


def draw_stolen_session(drawing: Drawing, users: list[Resident], campaign: str) -> Iterator[HardLogin]:
    """Log in as a user once or twice, with what was stolen, sometimes from their country, with their browser."""
    parameters, random = drawing.parameters, drawing.random
    victim, at, source = random.choice(users), drawing.any_moment(days=2), _draw_foreign_source(drawing)
    if drawing.happens(parameters.stolen_domestic_share):
        source = drawing.source(victim.country)
    if drawing.happens(parameters.stolen_browser_share):
        source = replace(source, client=victim.computer.user_agent)
    for _ in range(random.randint(*parameters.stolen_visits)):
        yield source.make(victim.subject_id, at, SUCCESS, HardKind.STOLEN_SESSION, campaign)
        at += timedelta(hours=random.expovariate(1 / 10))


def draw_informed_spray(drawing: Drawing, users: list[Resident], campaign: str) -> Iterator[HardLogin]:
    """Try one password for many users, each from an address of their own country and with their own browser."""
    parameters, random = drawing.parameters, drawing.random
    at, hours = drawing.any_moment(days=3), random.uniform(*parameters.informed_hours)
    victims = random.sample(users, min(len(users), random.randint(*parameters.informed_users)))
    for victim in victims:
        source = drawing.source(victim.country, client=victim.computer.user_agent)
        outcome = SUCCESS if drawing.happens(parameters.guess_success_share) else FAILURE
        yield source.make(victim.subject_id, at, outcome, HardKind.INFORMED_SPRAYING, campaign)
        at += timedelta(hours=random.expovariate(len(victims) / hours))


CAMPAIGNS: tuple[tuple[HardKind, str, Draw], ...] = (
    (HardKind.BURST, "bursts", draw_burst),
    (HardKind.SINGLE_SOURCE_GUESSING, "single_source_guessings", draw_single_source_guessing),
    (HardKind.STOLEN_SESSION, "stolen_sessions", draw_stolen_session),
    (HardKind.INFORMED_SPRAYING, "informed_sprays", draw_informed_spray),
)
