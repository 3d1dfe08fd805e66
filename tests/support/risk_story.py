"""Thirty calm days of risk signals and one day on which a device fails for many users, on the demo's documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from attestlab import Lab

FIRST_DAY = datetime(2026, 10, 4, tzinfo=UTC)  # of the thirty up to that of the demo's end, 2 November
DAYS = 30
BURST_DAY = datetime(2026, 10, 31, tzinfo=UTC)
BURST = 20
DEVICE = "dev-<b>burst</b>"  # an entity's id is a text that a stranger chose
NEWEST = datetime(2026, 11, 2, 11, tzinfo=UTC)
HOSTILE_USER = "<img src=x onerror=alert(1)>"


def tell(lab: Lab) -> None:
    """Record the story: 13 signals a day of which one is escalated, those of the burst, and the month before."""
    added = lab.signals.add_many([*_draw_month(-DAYS), *_draw_month(0), *_draw_burst()])
    assert not added.rejected, added.rejected[:3]


def _draw_month(first: int) -> Iterator[Mapping[str, object]]:
    for day in range(first, first + DAYS):
        at = FIRST_DAY + timedelta(days=day)
        for number in range(8):
            yield _signal("session", "geo_anomaly", 10 + number, "user", f"u-{number}", at + timedelta(hours=number))
        for number in range(4):
            yield _signal(
                "gateway", "behavior", 30 + number, "ip", f"10.0.0.{number}", at + timedelta(hours=8, minutes=number)
            )
        yield _signal("payments", "velocity", 85, "user", f"spender-{day % 3}", at + timedelta(hours=9))


def _draw_burst() -> Iterator[Mapping[str, object]]:
    for number in range(BURST):
        factors = [
            {"name": "failed_logins", "value": 9, "weight": 1, "contribution": 60, "explanation": "9 failed <logins>."},
            {"name": "new_device", "value": True, "weight": 1, "contribution": 30.5, "explanation": "A new device."},
        ]
        user = HOSTILE_USER if number == 0 else f"victim-{number}"
        details = {"device_id": DEVICE, "ip": f"10.9.0.{number % 3}", "factors": factors}
        yield _signal("login", "ato", 90.5, "user", user, BURST_DAY + timedelta(hours=3, minutes=number), details)


def _signal(
    source: str, kind: str, score: float, entity_type: str, entity_id: str, at: datetime, details: object = None
) -> Mapping[str, object]:
    given = {"source": source, "signal_type": kind, "score": score, "entity_type": entity_type, "entity_id": entity_id}
    return {**given, "occurred_at": at.isoformat(), **({"details": details} if details else {})}
