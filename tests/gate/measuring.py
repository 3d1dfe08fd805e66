"""A plugin of pytest that writes what each test cost and how it failed, one JSON object a line, for the gate.

The cost of a test is the processor time of its set-up, call and teardown. A fixture that several tests of a module
share is written by itself, and charged to them in equal parts (`costs.py`). A fixture of the whole session is not
charged: it is paid once, whichever test asks first.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gate.costs import FOLDER
from gate.processor_time import ProcessorClock

CONTROLLER = "controller"
MANY_TESTS = 100


class Measuring:
    """Measures the tests of one process. `_uncharged_s` is what shared fixtures used of the current test's time."""

    def __init__(self, folder: Path, process: str) -> None:
        self._out = (folder / f"{process}.jsonl").open("a", buffering=1)
        self._clock = ProcessorClock()
        self._uncharged_s = 0.0
        self._finalized_s = 0.0
        self._inner_s = [0.0]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Start the process that forks the others before the first test that needs it, which would pay for it."""
        if len(session.items) > MANY_TESTS and "support.fork_server" in sys.modules:
            sys.modules["support.fork_server"].get_fork_server()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._uncharged_s = 0.0
        began, began_s = time.monotonic(), self._clock.read()
        try:
            return (yield)
        finally:
            used_s = self._clock.read() - began_s - self._uncharged_s
            names = list(getattr(item, "fixturenames", ()))
            waited_s = time.monotonic() - began
            self._write(test=item.nodeid, cpu_s=max(0.0, used_s), wall_s=waited_s, fixtures=names)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        began_s = self._clock.read()
        self._inner_s.append(0.0)
        try:
            return (yield)
        finally:
            used_s = self._clock.read() - began_s
            inner_s = self._inner_s.pop()
            if fixturedef.scope == "function":
                self._inner_s[-1] += inner_s
            else:
                self._inner_s[-1] += used_s
                self._charge(fixturedef, request.node.nodeid, used_s - inner_s)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        self._finalized_s = self._clock.read()
        return (yield)

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> None:
        before_s, self._finalized_s = self._finalized_s, self._clock.read()
        if fixturedef.scope != "function":
            self._charge(fixturedef, request.node.nodeid, self._finalized_s - before_s)

    def _charge(self, fixturedef: pytest.FixtureDef[Any], node: str, used_s: float) -> None:
        used_s = max(0.0, used_s)
        self._uncharged_s += used_s
        if fixturedef.scope != "session":
            self._write(fixture=fixturedef.argname, module=node.partition("::")[0], cpu_s=used_s)

    def _write(self, **line: object) -> None:
        self._out.write(json.dumps(line) + "\n")


class Outcomes:
    """Writes each failure and each skipped test that the controlling process hears of."""

    def __init__(self, folder: Path) -> None:
        self._out = (folder / f"{CONTROLLER}.jsonl").open("a", buffering=1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self._write(
                failed=report.nodeid,
                when=report.when,
                took_s=report.duration,
                place=crash.path if crash else "",
                message=crash.message if crash else report.longreprtext,
                report=report.longreprtext,
            )
        elif report.skipped:
            self._write(skipped=report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            text = report.longreprtext
            self._write(failed=report.nodeid, when="collect", took_s=0.0, place="", message=text, report=text)

    def _write(self, **line: object) -> None:
        self._out.write(json.dumps(line) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(os.environ[FOLDER])
    folder.mkdir(parents=True, exist_ok=True)
    worker = getattr(config, "workerinput", None)
    if worker is None:
        config.pluginmanager.register(Outcomes(folder), "gate-outcomes")
    if worker is not None or not config.getoption("numprocesses", None):
        process = worker["workerid"] if worker is not None else "alone"
        config.pluginmanager.register(Measuring(folder, process), "gate-measuring")
