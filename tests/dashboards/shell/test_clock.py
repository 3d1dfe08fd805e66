"""Ages on the pages are those of the service's time, `lab.now()`; a demo's world has a time that no machine has."""

from __future__ import annotations

import ast

from house.measures import nodes
from house.structure import DASHBOARDS

CLOCKS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"}
# A verifier trusts the service's clock as little as the service: like the facade, it uses its own.
VERIFIERS = {"log/evidence.py"}


def test_no_module_of_the_dashboards_reads_the_clock_of_its_machine() -> None:
    found = {
        f"{path.relative_to(DASHBOARDS)}:{node.lineno}"
        for path in DASHBOARDS.rglob("*.py")
        if str(path.relative_to(DASHBOARDS)) not in VERIFIERS
        for node in nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS
    }

    assert found == set(), "ask lab.now() for the time"
