"""Two attacks of the demo world that no login shows: issuers that collude, and a batch of generated pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random

from attestlab.demos.risk_world.records import Kind
from attestlab.risk.media.assessment import Finding, assess
from attestlab.risk.media.findings import TimeConflict, weigh_marks, weigh_source_terms, weigh_time_conflicts
from attestlab.risk.media.generator_marks import GeneratorMark
from attestlab.risk.media.service import SIGNAL_TYPE, SOURCE
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal

_HOLDERS = tuple(f"holder-{number}" for number in range(1, 5))
_RING_DAYS = 40.0
_MUTUAL_SIGNALS = 90
_BATCH_SIZE = 60
_CAMERA = "device-5c1e07d2"


def draw_issuer_ring(issuers: Sequence[str], now: datetime, *, seed: int) -> Iterator[tuple[NewSignal, Kind]]:
    """Draw a ring: issuers attest documents for the same few holders, whom each of the others vouches for.

    Every signal is mild.
    """
    random = Random(f"{seed}:ring")
    for _ in range(_MUTUAL_SIGNALS):
        issuer, counterpart = random.sample(issuers, 2)
        details = encode_details({"issuer_id": counterpart, "user_id": random.choice(_HOLDERS)})
        score = round(random.uniform(35, 82), 1)
        entity, at = Entity(EntityType.ISSUER, issuer), now - timedelta(days=random.uniform(1, _RING_DAYS))
        yield NewSignal("issuance", "mutual_attestation", score, entity, details, at), Kind.ISSUER_COLLUSION


def draw_media_batch(issuer: str, now: datetime, *, seed: int) -> Iterator[tuple[NewSignal, Kind]]:
    """One device submits generated pictures to one issuer within some hours of two days ago."""
    random = Random(f"{seed}:batch")
    at = now - timedelta(days=2, hours=5)
    for number in range(_BATCH_SIZE):
        at += timedelta(minutes=random.expovariate(0.3))
        seen = {"media_type": "image/png", "device_id": _CAMERA, "issuer_id": issuer}
        found = assess(_draw_findings(random), seen)
        details = encode_details({**found.details, "verdict": found.verdict.value}, found.factors)
        entity = Entity(EntityType.DOCUMENT, f"upload-{number + 1:03}")
        yield NewSignal(SOURCE, SIGNAL_TYPE, float(found.score), entity, details, at), Kind.MEDIA_BATCH


def _draw_findings(random: Random) -> list[Finding]:
    """Most pictures still name their generator, some contradict the claimed time, and a few were edited only."""
    wrong_time = weigh_time_conflicts([TimeConflict("EXIF DateTimeOriginal", random.randint(3, 90))])
    if random.random() < 0.15:
        return [*weigh_source_terms(["compositeWithTrainedAlgorithmicMedia"]), *wrong_time]
    names = weigh_marks((), [GeneratorMark("Stable Diffusion", "PNG Software")])
    return [*names, *wrong_time] if random.random() < 0.3 else list(names)
