"""`python -m benchmarks.risk_simulation SIGNALS`: replays three risk rules over parts of the lake, in this process.

The world is a year; a few entities have most of the signals, and every hundredth entity has a resolved case.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from uuid import UUID

import numpy as np
import pyarrow as pa
from pyarrow import dataset as datasets

from attestlab.lake.datasets import SIGNALS
from attestlab.lake.parts import write_part
from attestlab.lake.sealed_connections import open_sealed
from attestlab.lake.service import ROWS_A_PART
from attestlab.risk.enforcement.store import RiskCaseRecord
from attestlab.risk.rules import CaseOutcome
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.risk.metrics import ErrorCosts
from attestlab.simulation.risk.risk_simulation import RiskSimulation
from attestlab.simulation.risk.rule_sets import live_rules, read_candidate
from attestlab.simulation.risk.signal_history import SignalWindow, encode_cases, load_signals
from benchmarks.figures import peak_memory_mib

SEED = 7
START = datetime(2025, 1, 1, tzinfo=UTC)
TENANT = UUID(int=1)
SIGNALS_PER_ENTITY, ENTITIES_PER_CASE = 20, 100
RULES = [
    {"id": "burst", "when": {"attr": "entity.signals_1h", "op": "gte", "value": 3}},
    {
        "id": "spread",
        "when": {
            "all": [
                {"attr": "entity.signals_24h", "op": "gte", "value": 10},
                {"attr": "entity.sources_24h", "op": "gte", "value": 2},
                {"attr": "entity.max_score_7d", "op": "gt", "value": 70},
            ]
        },
    },
    {"id": "high", "when": {"attr": "signal.score", "op": "gte", "value": 85}},
]


def main(signals: str) -> None:
    """Print `{signals, load_s, tally_s, curve_s, examples_s, cpu_s, peak_mib}` as JSON."""
    count = int(signals)
    with tempfile.TemporaryDirectory() as folder:
        files = _write_parts(Path(folder), count)
        parts = datasets.dataset(files, schema=pa.schema(list(SIGNALS.columns.items())))
        cases = _make_cases(count // SIGNALS_PER_ENTITY)
        load = partial(load_signals, encode_cases(cases, now=datetime.now(UTC)), SignalWindow())
        session = QuerySession(open_sealed({"this": [parts]}))
        with RiskSimulation(session, read_candidate(RULES), live_rules(80.0), load, 80.0) as simulation:
            print(json.dumps({"signals": count, **_measure(simulation), "peak_mib": peak_memory_mib()}))


def _measure(simulation: RiskSimulation) -> dict[str, float]:
    threshold = simulation.find_threshold()
    assert threshold is not None
    steps: dict[str, Callable[[], object]] = {
        "load": simulation.load,
        "tally": simulation.tally,
        "curve": partial(simulation.curve, threshold, costs=ErrorCosts()),
        "examples": simulation.examples,
    }
    figures, began_cpu = {}, process_time()
    for name, step in steps.items():
        began = perf_counter()
        step()
        figures[f"{name}_s"] = round(perf_counter() - began, 2)
    return {**figures, "cpu_s": round(process_time() - began_cpu, 2)}


def _write_parts(folder: Path, count: int) -> list[str]:
    rng = np.random.default_rng(SEED)
    entities = max(1, count // SIGNALS_PER_ENTITY)
    times = int(START.timestamp() * 1e6) + np.sort(rng.integers(0, 365 * 86_400 * 1_000_000, count))
    owners = (rng.pareto(1.1, count) * entities / 50).astype(np.int64) % entities
    paths = []
    for first in range(0, count, ROWS_A_PART):
        end = min(count, first + ROWS_A_PART)
        table = _make_part(rng, np.arange(first, end), owners[first:end], times[first:end])
        paths.append(str(write_part(folder, first, end - 1, table).path))
    return paths


def _make_part(rng: np.random.Generator, numbers: np.ndarray, owners: np.ndarray, times: np.ndarray) -> pa.Table:
    size = len(numbers)
    nothing = pa.nulls(size, pa.string())
    moments = pa.array(times, SIGNALS.columns["occurred_at"])
    columns = {
        "seq": numbers,
        "id": [str(UUID(int=int(number) + 1)) for number in numbers],
        "tenant_id": [str(TENANT)] * size,
        "source": rng.choice(["login", "velocity", "media", "limits"], size),
        "signal_type": rng.choice(["ato", "velocity", "deepfake", "geo_anomaly"], size),
        "entity_type": ["user"] * size,
        "entity_id": [_entity_id(owner) for owner in owners],
        "score": np.round(rng.beta(2, 4, size) * 100, 2),
        "occurred_at": moments,
        "details": ["{}"] * size,
        **dict.fromkeys(("case_id", "event_id", "replaces"), nothing),
        "created_at": moments,
    }
    return pa.table(columns, schema=pa.schema(list(SIGNALS.columns.items())))


def _make_cases(entities: int) -> list[RiskCaseRecord]:
    outcomes = list(CaseOutcome)
    return [
        RiskCaseRecord(
            id=UUID(int=(1 << 64) + number),
            tenant_id=TENANT,
            entity_type="user",
            entity_id=_entity_id(number * ENTITIES_PER_CASE),
            status="resolved",
            signal_count=1,
            max_score=90.0,
            opened_at=START,
            outcome=outcomes[number % len(outcomes)].value,
            resolved_at=START + timedelta(days=365),
        )
        for number in range(entities // ENTITIES_PER_CASE)
    ]


def _entity_id(number: int) -> str:
    return f"user-{number:08d}@people.example"


if __name__ == "__main__":
    main(*sys.argv[1:])
