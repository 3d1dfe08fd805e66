"""A DuckDB session for simulations: queries that can be observed and cancelled, and frames that know their SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from attestlab.core.errors import Cancelled, Unavailable
from attestlab.lake.sealed_connections import translate_read_errors
from attestlab.simulation.progress import Progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Result = TypeVar("Result")

_POLL_INTERVAL_S = 0.05  # interval of checks for timeout and disconnected clients
_INTERRUPT_INTERVAL_S = 0.01  # an interrupt between two queries has no effect, so it is repeated


class QuerySession:
    """Runs one query at a time, in the calling thread; other threads may call `cancel`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._idle = Event()
        self._idle.set()
        self._cancelled: Exception | None = None
        self._progress = Progress(connection.query_progress)

    def run(
        self, sql: str, parameters: Sequence[object] = ()
    ) -> list[tuple[Any, ...]]:  # DuckDB types the rows of a query so
        """Return the rows of a query.

        Raises:
            Cancelled: `cancel` was called.
            Unavailable: the query exceeds the memory limit, or a part of the lake is damaged.
        """
        with self._working():
            return self._connection.execute(sql, list(parameters)).fetchall()

    def relation(self, sql: str, convert: Callable[[duckdb.DuckDBPyRelation], Result]) -> Result:
        """Return the result of `convert` for a query's relation; raises like `run`."""
        with self._working():
            return convert(self._connection.sql(sql))

    def with_connection(self, function: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """Return the result of `function` for the connection itself; raises like `run`."""
        with self._working():
            return function(self._connection)

    def frame(self, sql: str) -> Frame:
        """Return a query as a frame, without running it."""
        return Frame(sql, self)

    @property
    def is_idle(self) -> bool:
        """Whether no query is running."""
        return self._idle.is_set()

    @property
    def progress(self) -> float:
        """The completed fraction of the running or last operation: 0 to 1, never decreasing, 1 when completed."""
        return self._progress.fraction

    def steps(self, count: int) -> AbstractContextManager[None]:
        """Combine the queries inside into one operation of about `count` steps; otherwise each query is one."""
        return self._progress.track(count)

    def cancel(self, message: str = "The simulation was cancelled.") -> None:
        """Cancel the running query and all later ones, and return when it has stopped; from any thread."""
        self._cancelled = self._cancelled or Cancelled(message)
        while not self._idle.wait(_INTERRUPT_INTERVAL_S):
            self._connection.interrupt()

    @contextmanager
    def deadline(
        self, seconds: float, message: str, *, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Cancel the queries inside when the time is up, or as soon as `is_cancelled` returns true."""
        deadline_at, done = monotonic() + seconds, Event()

        def cancel_if_due() -> bool:
            if is_cancelled():
                self.cancel("The client no longer waits for the simulation.")
            elif monotonic() >= deadline_at:
                self.cancel(message)
            else:
                return False
            return True

        def watch() -> None:
            while not done.wait(_POLL_INTERVAL_S) and not cancel_if_due():
                pass

        if not cancel_if_due():
            Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def close(self) -> None:
        """Close the connection."""
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
                "The simulation exceeds its memory limit; narrow the window, or use fewer attributes in `by`."
            ) from None
        finally:
            self._idle.set()


class Frame:
    """The rows of one query. `sql` runs on the simulation's own connection; each access runs it again."""

    def __init__(self, sql: str, session: QuerySession) -> None:
        self.sql = sql
        self._session = session

    def df(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""
        return self._session.relation(self.sql, lambda found: found.df())

    def arrow(self) -> pa.Table:
        """Return the rows as a pyarrow Table."""
        return self._session.relation(self.sql, lambda found: found.arrow().read_all())

    def rows(self) -> list[dict[str, object]]:
        """Return the rows as plain values, by column."""
        names, found = self._session.relation(self.sql, lambda found: (found.columns, found.fetchall()))
        return [dict(zip(names, row, strict=True)) for row in found]

    def __repr__(self) -> str:
        return f"<frame of {self.sql[:60]}...>"
