"""`python -m benchmarks [--only GROUP]`: prints one JSON line per figure; `--help` lists the groups."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import access_checks, checking, expiring, log_alone, offline, over_http, starting
from benchmarks.figures import Figure


def _policy_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import policy  # loaded late: it imports the other engines, which the extra `bench` installs

    return policy.figures(folder)


def _policy_growth(folder: Path) -> Iterator[Figure]:
    from benchmarks import policy

    return policy.growth(folder)


def _detection_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks.detection import report  # loaded late: it imports numpy

    return report.figures(folder)


def _detection_data_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks.detection import real_data  # loaded late: it imports river, which the extra `bench` installs

    return real_data.figures(folder)


def _risk_lake_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import risk_lake  # loaded late: it imports DuckDB

    return risk_lake.figures(folder)


def _search_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import search  # loaded late: it imports DuckDB

    return search.figures(folder)


def _facade_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import facade  # loaded late: it imports DuckDB and the client

    return facade.figures(folder)


def _risk_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import risk_over_http  # loaded late: only this group needs it

    return risk_over_http.figures(folder)


def _killed_backfill_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import killed_backfill  # loaded late: only this group needs it

    return killed_backfill.figures(folder)


def _login_backfill_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import login_backfill  # loaded late: only this group needs it

    return login_backfill.figures(folder)


def _postgresql_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import postgresql_mints  # loaded late: only this group starts PostgreSQL

    return postgresql_mints.figures(folder)


def _webhook_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import webhooks  # loaded late: only this group needs it

    return webhooks.figures(folder)


def _dashboard_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks.dashboards import report  # loaded late: it imports DuckDB and the client

    return report.figures(folder)


def _wait_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks.waits import report  # loaded late: it imports the client

    return report.figures(folder)


def _people_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks import people  # loaded late: only this group starts PostgreSQL and the blog

    return people.figures(folder)


def _agent_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks.agents import report  # loaded late: it imports DuckDB, and starts PostgreSQL

    return report.figures(folder)


def _view_figures(folder: Path) -> Iterator[Figure]:
    from benchmarks.views import report  # loaded late: it imports Playwright, the dashboards and Jupyter's client

    return report.figures(folder)


GROUPS: dict[str, Callable[[Path], Iterator[Figure]]] = {
    "http": over_http.figures,
    "log": log_alone.figures,
    "verify": offline.figures,
    "access": access_checks.figures,
    "cli": starting.cli_figures,
    "expiry": expiring.figures,
    "fsck": checking.figures,
    "serve": starting.serve_figures,
    "search": _search_figures,
    "policy": _policy_figures,
    "policy_growth": _policy_growth,
    "detection": _detection_figures,
    "detection_data": _detection_data_figures,
    "risk": _risk_figures,
    "risk_lake": _risk_lake_figures,
    "risk_backfill": _killed_backfill_figures,
    "login_backfill": _login_backfill_figures,
    "facade": _facade_figures,
    "dashboards": _dashboard_figures,
    "views": _view_figures,
    "webhooks": _webhook_figures,
    "postgresql": _postgresql_figures,
    "waits": _wait_figures,
    "people": _people_figures,
    "agents": _agent_figures,
}


def main() -> None:
    """Measure the selected groups, each in a folder that is deleted afterwards."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Print one JSON line per figure.")
    parser.add_argument("--only", choices=GROUPS, help="measure one group")
    selected = parser.parse_args().only
    for name in [selected] if selected else GROUPS:
        with tempfile.TemporaryDirectory(prefix="attestlab-bench-") as folder:
            for figure in GROUPS[name](Path(folder)):
                print(figure.to_json(), flush=True)


if __name__ == "__main__":
    main()
