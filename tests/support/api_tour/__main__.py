"""Takes the tour and writes the examples of the API reference; `make examples` runs it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from attestlab.core.clock import FixedClock
from support.access import open_access_scenario
from support.api_tour.recording import TourRecorder
from support.api_tour.stations import STATIONS
from support.in_process_server import make_client, serve_in_thread
from support.installations import InstallationTemplate

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def main() -> None:
    """Write `attestlab/server/examples.json`."""
    with TemporaryDirectory() as folder:
        template = InstallationTemplate.in_folder(Path(folder), FixedClock(NOON))
        (Path(folder) / "copy").mkdir()
        with template.open_in(Path(folder) / "copy", FixedClock(NOON)) as lab, serve_in_thread(lab) as url:
            with make_client(url) as client:
                document = client.get("/openapi.json").json()
            with open_access_scenario(lab, url) as access:
                tour = TourRecorder(access, document)
                for station in STATIONS:
                    station(tour)
    path = Path(str(files("attestlab.server").joinpath("examples.json")))
    path.write_text(json.dumps(tour.examples, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
