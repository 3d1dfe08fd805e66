"""Progress of a simulation: from 0 to 1 within each operation, never decreasing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from attestlab.simulation.progress import Progress
from attestlab.simulation.simulation import Simulation
from support.policies.documents import make_condition, make_document, make_rule
from support.simulations import make_member, make_scenario, make_simulation

OLD = make_document(make_rule("old", "DENY", make_condition("key.age_days", "gt", 100)), default_effect="ALLOW")
ROWS = 400_000


class Query:
    """What DuckDB would say of a query, -1 before it knows."""

    def __init__(self) -> None:
        self.percent = -1.0

    def __call__(self) -> float:
        return self.percent


def test_progress_is_monotonic_from_zero_to_one() -> None:
    """Steps share what is theirs; an estimate that falls, or says that it is done, does not show."""
    query = Query()
    progress, fractions = Progress(query), []
    for _ in range(2):
        with progress.track(2):
            fractions.append(progress.fraction)
            for percents in ((-1.0, 40.0, 10.0), (40.0, 100.0), (60.0,)):  # one more than was announced
                with progress.track(1, is_query=True):
                    for query.percent in percents:
                        fractions.append(progress.fraction)
        fractions.append(progress.fraction)

    assert fractions == pytest.approx([0, 0, 0.2, 0.2, 0.7, 0.99, 0.99, 1] * 2)


def test_progress_stays_after_a_failure() -> None:
    query = Query()
    progress = Progress(query)
    with pytest.raises(ZeroDivisionError), progress.track(2), progress.track(1, is_query=True):
        query.percent = 50.0
        assert progress.fraction == 0.25
        _ = 1 / 0
    query.percent = 0.0
    assert progress.fraction == 0.25
    with progress.track(1):
        assert progress.fraction == 0


@contextmanager
def sampled(simulation: Simulation) -> Iterator[list[float]]:
    """What another thread sees of it."""
    seen, done = [], threading.Event()

    def read_progress() -> None:
        while not done.is_set():
            seen.append(simulation.progress)
            time.sleep(0.0005)

    with simulation.session.steps(1):  # so that no sample is of the verb before
        thread = threading.Thread(target=read_progress)
        thread.start()
        while not seen:
            time.sleep(0.0005)
        yield seen
        done.set()
        thread.join()


VERBS: dict[str, Callable[[Simulation], object]] = {
    "load": lambda simulation: simulation.load(),
    "compare": lambda simulation: simulation.compare(["trust_tier"]),
    "sweep": lambda simulation: simulation.sweep("old", "key.age_days").df(),
    "coverage": lambda simulation: simulation.coverage().rows(),
    "decide": lambda simulation: simulation.decide().arrow(),
}


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough contexts that a query takes a while, nearly all of them different."""
    path = tmp_path_factory.mktemp("past") / "past.parquet"
    duckdb.execute(
        "COPY (SELECT random() * 200 AS \"key.age_days\", CASE WHEN range % 3 = 0 THEN 'BASIC' ELSE 'VERIFIED' END "
        f"AS trust_tier FROM range({ROWS})) TO '{path}' (FORMAT parquet)"
    )
    return path


@pytest.mark.parametrize("verb", VERBS)
def test_observer_sees_progress_grow_and_end(past: Path, verb: str) -> None:
    with make_simulation(past, make_scenario(make_member("draft", OLD))) as simulation:
        assert simulation.progress == 0
        with sampled(simulation) as seen:
            VERBS[verb](simulation)
        assert (seen[0], seen) == (0, sorted(seen))
        assert len(set(seen)) > 2
        VERBS[verb](simulation)
        assert simulation.progress == 1
