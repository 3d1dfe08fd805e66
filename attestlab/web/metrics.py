"""Request counts and latencies for Prometheus, by route template: paths with ids would create one series per id."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.multiprocess import MultiProcessCollector

from attestlab.web.executor import Executor
from attestlab.web.rate_limit.limiter import owner_of
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Route, Routes

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LOCK_SECONDS = (0.0005, *_SECONDS)
_JOBS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_UNROUTED = "(none)"


class Metrics:
    """Metrics of one process, or of all workers. Call on the event loop, unless a method states otherwise."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            "attestlab_http_requests", "Requests answered.", (*labels, "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "attestlab_http_request_seconds",
            "From the end of the head to the answer, the body included.",
            labels,
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._submissions = Counter(
            "attestlab_witness_submissions",
            "Checkpoints handed to a witness, by what came of it.",
            ("witness", "outcome"),
            registry=self.registry,
        )
        self._cosigned = Gauge(
            "attestlab_witness_cosigned_size",
            "The largest tree that a witness cosigned.",
            ("witness",),
            registry=self.registry,
            multiprocess_mode="max",
        )
        self._lost_lines = Counter(
            "attestlab_log_lines_lost", "Lines of the log that standard error did not take.", registry=self.registry
        )
        self._failed_commits = Counter(
            "attestlab_commits_failed", "Commits that failed, by their cause.", ("cause",), registry=self.registry
        )
        self._group_jobs = Histogram(
            "attestlab_write_group_jobs", "Writes that share one commit.", buckets=_JOBS, registry=self.registry
        )
        self._before_lock = Histogram(
            "attestlab_writer_lock_before_seconds",
            "From a group's start until it has the writer's lock.",
            buckets=_LOCK_SECONDS,
            registry=self.registry,
        )
        self._lock_held = Histogram(
            "attestlab_writer_lock_held_seconds",
            "How long a group holds the writer's lock, the commit included.",
            buckets=_LOCK_SECONDS,
            registry=self.registry,
        )
        self._queued_writes = self._level("attestlab_write_queue_jobs", "Writes that wait for the next group.")
        self._connections = self._level(
            "attestlab_database_connections_in_use", "Connections to PostgreSQL in use; 0 on SQLite."
        )
        self._child_memory = Gauge(
            "attestlab_child_processes_memory_bytes",
            "Proportional set size of child processes, by their work.",
            ("work",),
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        # Cache by route and status: the library would look children up by label under a lock.
        self._children: dict[tuple[int, int], tuple[Counter, Histogram]] = {}

    def _level(self, name: str, documentation: str) -> Gauge:
        """Create a gauge that adds up over the workers that run."""
        return Gauge(name, documentation, registry=self.registry, multiprocess_mode="livesum")

    def count_response(self, route: Route | None, status: int, seconds: float) -> None:
        """Count one response."""
        children = self._children.get((id(route), status))
        if children is None:
            children = self._children[id(route), status] = self._label_series(route, status)
        children[0].inc()
        children[1].observe(seconds)

    def count_lost_line(self) -> None:
        """Count a log line that could not be written. Thread-safe."""
        self._lost_lines.inc()

    def count_failed_commit(self, cause: str) -> None:
        """Count a failed commit. Thread-safe."""
        self._failed_commits.labels(cause).inc()

    def count_submission(self, witness: str, outcome: str, size: int | None) -> None:
        """Count the outcome of submitting a checkpoint to a witness; `size` is the tree size that it cosigned."""
        self._submissions.labels(witness, outcome).inc()
        if size is not None:
            self._cosigned.labels(witness).set(size)

    def observe_queue(self, waiting: int) -> None:
        """Report the number of writes that wait for the next group. Thread-safe, like the observations below."""
        self._queued_writes.set(waiting)

    def observe_group(self, jobs: int) -> None:
        """Count a group by the number of its writes."""
        self._group_jobs.observe(jobs)

    def observe_lock(self, *, before_s: float, held_s: float) -> None:
        """Add the times of one write transaction before and under the writer's lock."""
        self._before_lock.observe(before_s)
        self._lock_held.observe(held_s)

    def observe_connections(self, in_use: int) -> None:
        """Report the number of connections to PostgreSQL in use."""
        self._connections.set(in_use)

    def observe_child_memory(self, work: str, taken_bytes: int) -> None:
        """Report the memory of the child processes of a kind of work."""
        self._child_memory.labels(work).set(taken_bytes)

    def render(self) -> bytes:
        """Render all metrics in text format 0.0.4. Thread-safe."""
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self.registry)
        of_all = CollectorRegistry()
        MultiProcessCollector(of_all)  # type: ignore[no-untyped-call]  # it has no hints
        return generate_latest(of_all)

    def _label_series(self, route: Route | None, status: int) -> tuple[Counter, Histogram]:
        method, path = ("(any)", _UNROUTED) if route is None else (route.method, route.path)
        return self._requests.labels(method, path, str(status)), self._seconds.labels(method, path)


def metrics_routes(metrics: Metrics) -> Routes:
    """Build `GET /metrics`."""
    routes = Routes("operations")

    @routes.get("/metrics", scope=PUBLIC, charged=False, produces={"text/plain": str})
    async def get_metrics(request: Request, executor: Executor) -> RawResponse:
        """Get metrics for Prometheus. A thread renders them, because that takes over 10 ms.

        Requests are counted by method, route template and status, with their latencies.
        """
        text = await executor.bodies.run(owner_of(request), metrics.render)
        return RawResponse(text, CONTENT_TYPE_PLAIN_0_0_4)

    return routes
