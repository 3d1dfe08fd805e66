"""All figures of machine agents, on SQLite and PostgreSQL where the database matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.agents import chains, killing, many, metrics, requests
from benchmarks.figures import Figure
from benchmarks.postgresql_mints import run_postgresql


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures; the servers write to `folder`."""
    yield from chains.figures()
    yield from metrics.figures(folder / "metrics")
    for engine in ("sqlite", "postgresql"):
        for part in (requests, many, killing):
            with _choose_database(engine) as url:
                yield from part.figures(folder / engine / part.__name__, engine, url)


@contextmanager
def _choose_database(engine: str) -> Iterator[str | None]:
    """Yield the URL of a new PostgreSQL, or None for SQLite."""
    if engine == "sqlite":
        yield None
        return
    with run_postgresql() as url:
        yield url
