"""The demo that `attestlab demo` serves: a world in a folder, with its credentials next to it.

Its people have a random password, because others may reach its port.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from attestlab.demos.history.year import ReportProgress, ignore_progress
from attestlab.demos.people import PEOPLE
from attestlab.demos.world import demo_world

CREDENTIALS: Final = "demo.json"

Credentials = dict[str, object]  # for one JSON object


def load_credentials(folder: Path, *, report_progress: ReportProgress = ignore_progress) -> Credentials:
    """Return the credentials of the demo in `folder`, creating the demo if it does not exist."""
    return _read_credentials(folder) or create_world(folder, report_progress=report_progress)


def create_world(
    folder: Path, *, mint_times: int = 1, report_progress: ReportProgress = ignore_progress
) -> Credentials:
    """Create a demo and store its credentials in its folder, because its data needs no protection.

    `mint_times` multiplies its attestations, of which an ordinary one has some 1,300. `report_progress` gets the share
    that is done, up to 1.
    """
    report_progress(0.0)
    world = demo_world(folder, mint_times=mint_times, report_progress=report_progress)
    shared = world.minted[0][1].id
    shown: Credentials = {
        **world.made.public(),
        "people": {address: role.value for address, _, role in PEOPLE},
        "people_password": world.password,
        "attestation_id": str(shared),
        "share_key": world.lab.links.share_key(shared),
    }
    file = os.open(folder / CREDENTIALS, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as target:
        json.dump(shown, target)
    world.lab.close()
    return shown


def _read_credentials(folder: Path) -> Credentials | None:
    try:
        shown: Credentials = json.loads((folder / CREDENTIALS).read_text())
    except FileNotFoundError:
        return None
    return shown


def list_people(credentials: Credentials) -> list[dict[str, str]]:
    """List who may sign in to the demo's dashboards with one click; a folder of an older version has no one."""
    password = credentials.get("people_password")
    return [
        {"name": name, "role": role.value, "email": address, "password": str(password)}
        for address, name, role in PEOPLE
        if password is not None
    ]
