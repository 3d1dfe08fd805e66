"""Parts with many risk signals, generated from a seed and written by the lake's own writer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

from attestlab.lake.datasets import SIGNALS
from attestlab.lake.parts import write_part
from attestlab.lake.service import ROWS_A_PART

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAYS = 30
START = datetime(2026, 9, 1, tzinfo=UTC)
END = START + timedelta(days=DAYS)
ENTITIES_A_TENANT = 10_000
SOURCES = {
    "velocity": ("velocity",),
    "login": ("ato",),
    "media": ("deepfake",),
    "payments": ("card_testing", "chargeback", "behavior"),
    "partner": ("behavior", "geo_anomaly", "device_farm"),
}
_KINDS = [(source, kind) for source, kinds in SOURCES.items() for kind in kinds]
_ENTITY_TYPES = ("user", "device", "ip", "document", "issuer")
_DASHES, _UUID_CHARACTERS = (8, 13, 18, 23), 36


def write_signals(lake: Path, count: int, tenant_ids: list[UUID]) -> None:
    """Write parts with `count` signals over the days, from a fixed seed; each of `tenant_ids` has an equal share."""
    import numpy as np

    rng = np.random.default_rng(7)
    for first in range(0, count, ROWS_A_PART):
        end = min(first + ROWS_A_PART, count)
        table = _build_part(rng, first, end, count, [str(tenant_id) for tenant_id in tenant_ids])
        write_part(lake / SIGNALS.name, first, end - 1, table)


def _build_part(rng: np.random.Generator, first: int, end: int, count: int, tenants: list[str]) -> pa.Table:
    """Return the signals of a range of numbers, sorted as in a part."""
    import numpy as np

    size = end - first
    span_us = DAYS * 86_400_000_000
    at = (np.arange(first, end) * span_us // count) - rng.integers(0, 3_600_000_000, size)
    at = np.maximum(at, 0) + int(START.timestamp() * 1e6)
    kind = rng.choice(len(_KINDS), size, p=_skew(len(_KINDS)))
    score = np.round(np.clip(rng.beta(2, 3, size) * 100, 0, 100), 1)
    entity = np.minimum(rng.zipf(1.3, size), ENTITIES_A_TENANT)
    entity_type = rng.choice(len(_ENTITY_TYPES), size, p=_skew(len(_ENTITY_TYPES)))
    case_ids = _null_unless(score >= 80, _random_uuids(rng, size))
    times = pa.array(at, pa.timestamp("us", tz="UTC"))
    columns: dict[str, Any] = {
        "seq": pa.array(np.arange(first, end)),
        "id": _random_uuids(rng, size),
        "tenant_id": _take(tenants, rng.integers(0, len(tenants), size)),
        "source": _take([source for source, _ in _KINDS], kind),
        "signal_type": _take([name for _, name in _KINDS], kind),
        "entity_type": _take(list(_ENTITY_TYPES), entity_type),
        "entity_id": pa.array([f"entity-{number}" for number in entity.tolist()]),
        "score": pa.array(score),
        "occurred_at": times,
        "details": pa.array([f'{{"attempts":{number},"reason":"generated"}}' for number in kind.tolist()]),
        "case_id": case_ids,
        "event_id": pa.nulls(size, pa.string()),
        "replaces": pa.nulls(size, pa.string()),
        "created_at": times,
    }
    table = pa.table({name: columns[name] for name in SIGNALS.columns}, schema=pa.schema(list(SIGNALS.columns.items())))
    return table.sort_by([(name, "ascending") for name in SIGNALS.order])


def _null_unless(condition: NDArray[np.bool_], values: pa.Array) -> pa.Array:
    """Return the values where a condition holds, otherwise null."""
    from pyarrow import compute

    return compute.if_else(pa.array(condition), values, pa.scalar(None, pa.string()))


def _skew(count: int) -> list[float]:
    """Return probabilities that fall like 1/n."""
    weights = [1 / (n + 1) for n in range(count)]
    return [weight / sum(weights) for weight in weights]


def _take(values: list[str], indices: NDArray[np.int64]) -> pa.Array:
    return pa.array(values).take(pa.array(indices))


def _random_uuids(rng: np.random.Generator, count: int) -> pa.Array:
    """Return random ids in the form of UUIDs."""
    import numpy as np

    digits = np.frombuffer(rng.bytes(count * 16).hex().encode(), np.uint8).reshape(count, 32)
    text = np.full((count, _UUID_CHARACTERS), ord("-"), np.uint8)
    text[:, [n for n in range(_UUID_CHARACTERS) if n not in _DASHES]] = digits
    offsets = np.arange(count + 1, dtype=np.int32) * _UUID_CHARACTERS
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(text.tobytes())])
