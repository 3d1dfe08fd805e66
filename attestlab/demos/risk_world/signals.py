"""Attacks that are not logins, as labelled signals: colluding issuers, and a batch of generated media.

They are kept simple: some issuers verify each other's documents in a ring, and one device submits many pictures
with the marks of one generator. Everyone else makes a few such signals by accident.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random

from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.records import Kind, LabelledSignal

_ISSUERS = 40
_RING = 5  # issuers that collude
_BATCH = 60  # documents of a media batch
_ACCIDENTS_A_DAY = 6


def draw_signals(parameters: WorldParameters) -> Iterator[LabelledSignal]:
    """Yield the signals of a world, sorted by time."""
    random = Random(f"{parameters.seed}:signals")
    made = [*_draw_accidents(parameters, random), *_draw_ring(parameters, random), *_draw_batch(parameters, random)]
    yield from sorted(made, key=lambda signal: signal.occurred_at)


def _draw_accidents(parameters: WorldParameters, random: Random) -> Iterator[LabelledSignal]:
    """Innocent documents fail checks and are recompressed; their scores are low, and their issuers any."""
    for number in range(parameters.days * _ACCIDENTS_A_DAY):
        at = parameters.first_day + timedelta(days=random.uniform(0, parameters.days))
        details = {"issuer": f"issuer-{random.randrange(_ISSUERS)}", "device": f"scanner-{random.randrange(200)}"}
        source, signal_type = random.choice((("media", "deepfake"), ("verification", "behavior")))
        score = round(min(95.0, random.gammavariate(3.0, 9.0)), 1)
        yield LabelledSignal(source, signal_type, "document", f"doc-{number}", score, at, details, Kind.ORDINARY)


def _draw_ring(parameters: WorldParameters, random: Random) -> Iterator[LabelledSignal]:
    """Colluding issuers attest documents about the same few people, over weeks, each signal mild by itself."""
    campaign, ring = f"issuer_collusion-{parameters.seed}", random.sample(range(_ISSUERS), _RING)
    for _ in range(_RING * 12):
        at = parameters.first_day + timedelta(days=random.uniform(0.3, 1.0) * parameters.days)
        first, second = random.sample(ring, 2)
        details = {"counterpart": f"issuer-{second}", "subject": f"holder-{parameters.seed}-{random.randrange(4)}"}
        score = round(random.uniform(30, 65), 1)
        entity = f"issuer-{first}"
        yield LabelledSignal(
            "issuers", "behavior", "issuer", entity, score, at, details, Kind.ISSUER_COLLUSION, campaign
        )


def _draw_batch(parameters: WorldParameters, random: Random) -> Iterator[LabelledSignal]:
    """One device submits many generated pictures within hours."""
    campaign = f"media_batch-{parameters.seed}"
    at = parameters.first_day + timedelta(days=random.uniform(0.3, 0.9) * parameters.days)
    device = {"device": f"batch-{parameters.seed}", "issuer": f"issuer-{random.randrange(_ISSUERS)}"}
    for number in range(_BATCH):
        at += timedelta(minutes=random.expovariate(0.3))
        score, document = round(random.uniform(45, 92), 1), f"batch-doc-{parameters.seed}-{number}"
        yield LabelledSignal("media", "deepfake", "document", document, score, at, device, Kind.MEDIA_BATCH, campaign)
