"""All figures of machine agents, on SQLite and PostgreSQL where the database matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.agents import chains, requests
from benchmarks.figures import Figure
from benchmarks.postgresql_mints import run_postgresql


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures; the servers write to `folder`."""
    yield from chains.figures()
    with ExitStack() as stack:
        urls = {"sqlite": None, "postgresql": stack.enter_context(run_postgresql())}
        for engine, url in urls.items():
            yield from requests.figures(folder / engine, engine, url)
