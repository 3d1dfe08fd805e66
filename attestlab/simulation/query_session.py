"""One DuckDB connection at work: queries that can be watched and stopped, and frames that know their SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

import duckdb

from attestlab.core.errors import Cancelled, Unavailable
from attestlab.lake.relations import translate_read_errors
from attestlab.simulation.progress import Progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_POLL_INTERVAL_S = 0.05  # how often it is asked whether the time is up, and whether anybody still waits
_INTERRUPT_INTERVAL_S = 0.01  # an interrupt that comes between two queries is heard by neither, so it is said again


class QuerySession:
    """Runs one query at a time, in whichever thread asks; `cancel` is for the others."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._idle = Event()
        self._idle.set()
        self._cancelled: Exception | None = None
        self._progress = Progress(connection.query_progress)

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query.

        Raises:
            Cancelled: `cancel` was called.
            Unavailable: it needs more memory than it may have, or a part of the lake is damaged.
        """
        with self._working():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def relation(self, sql: str, convert: Callable[[duckdb.DuckDBPyRelation], Any]) -> Any:
        """What `take` makes of a query's relation; raises as `run` does."""
        with self._working():
            return convert(self._connection.sql(sql))

    def with_connection(self, function: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:
        """What `work` asks of the connection itself; raises as `run` does."""
        with self._working():
            return function(self._connection)

    def frame(self, sql: str) -> Frame:
        """A query as a frame; nothing is asked yet."""
        return Frame(sql, self)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs."""
        return self._idle.is_set()

    @property
    def progress(self) -> float:
        """How much of what runs, or ran last, is done: 0 to 1, never back, and 1 once all of it is."""
        return self._progress.fraction

    def steps(self, count: int) -> AbstractContextManager[None]:
        """What is asked within is one run of about so many steps; a query alone is one."""
        return self._progress.track(count)

    def cancel(self, message: str = "The simulation was cancelled.") -> None:
        """Stop what runs, for good, and return when it has stopped; from any thread."""
        self._cancelled = self._cancelled or Cancelled(message)
        while not self._idle.wait(_INTERRUPT_INTERVAL_S):
            self._connection.interrupt()

    @contextmanager
    def deadline(
        self, seconds: float, message: str, *, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Cancel what is not done in time, at once where there is none; or as soon as it is `given_up`."""
        deadline_at, done = monotonic() + seconds, Event()

        def cancelled() -> bool:
            if is_cancelled():
                self.cancel("Nobody waits for the simulation any more.")
            elif monotonic() >= deadline_at:
                self.cancel(message)
            else:
                return False
            return True

        def watch() -> None:
            while not done.wait(_POLL_INTERVAL_S) and not cancelled():
                pass

        if not cancelled():
            Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def close(self) -> None:
        """Give everything back."""
        self._connection.close()

    @contextmanager
    def _working(self) -> Iterator[None]:
        self._idle.clear()
        try:
            if self._cancelled is not None:
                raise self._cancelled
            with translate_read_errors(), self._progress.track(1, is_query=True):
                yield
        except duckdb.InterruptException:
            raise self._cancelled or Cancelled("The simulation was interrupted.") from None
        except duckdb.OutOfMemoryException:
            raise Unavailable(
                "The simulation needs more memory than it may have; narrow the window, or ask by fewer attributes."
            ) from None
        finally:
            self._idle.set()


class Frame:
    """The rows of one query. `sql` made them, and runs on the simulation's own connection; each look asks anew."""

    def __init__(self, sql: str, session: QuerySession) -> None:
        self.sql = sql
        self._session = session

    def df(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self._session.relation(self.sql, lambda found: found.df())

    def arrow(self) -> pa.Table:
        """The rows as a pyarrow Table."""
        return self._session.relation(self.sql, lambda found: found.arrow().read_all())

    def rows(self) -> list[dict[str, Any]]:
        """The rows as plain values, by column."""
        names, found = self._session.relation(self.sql, lambda found: (found.columns, found.fetchall()))
        return [dict(zip(names, row, strict=True)) for row in found]

    def __repr__(self) -> str:
        return f"<frame of {self.sql[:60]}...>"
