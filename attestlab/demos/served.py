"""The demo that `attestlab demo` serves: a world in a folder, with its credentials next to it.

Its people have a random password, because others may reach its port.
"""

from __future__ import annotations

import json
import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Final
from uuid import UUID

from attestlab.core.errors import NoInstallation
from attestlab.demos.fresh_secrets import renew_secrets
from attestlab.demos.history.year import ReportProgress, ignore_progress
from attestlab.demos.people import CONSUMERS, PEOPLE
from attestlab.demos.world import demo_world
from attestlab.installation import Installation
from attestlab.settings import Settings

CREDENTIALS: Final = "demo.json"

Credentials = dict[str, object]  # for one JSON object


def create_world(
    folder: Path, *, mint_times: int = 1, report_progress: ReportProgress = ignore_progress
) -> Credentials:
    """Create a demo and store its credentials in its folder, because its data needs no protection.

    `mint_times` multiplies its attestations, of which an ordinary one has some 1,300. `report_progress` gets the share
    that is done, up to 1.
    """
    report_progress(0.0)
    world = demo_world(folder, mint_times=mint_times, report_progress=report_progress)
    shown: Credentials = {
        **world.made.public(),
        "people": {address: role.value for address, _, role in PEOPLE},
        "consumers": {each.address: each.username for each in CONSUMERS},
        "people_password": world.password,
        "attestation_id": str(world.minted[0][1].id),
    }
    _store_credentials(world.lab, shown)
    world.lab.close()
    return shown


def renew_credentials(folder: Path) -> Credentials:
    """Give a demo, which no server serves, other secrets; it has no credentials until all are replaced."""
    shown = read_credentials(folder)
    if shown is None:
        raise NoInstallation(folder)
    (folder / CREDENTIALS).unlink()
    with closing(Installation.open(Settings(data=folder, database_url=None))) as lab:
        fresh = renew_secrets(lab, api_key=str(shown["api_key"]), owner_email=str(shown["owner_email"]))
        shown |= asdict(fresh)
        _store_credentials(lab, shown)
    return shown


def _store_credentials(lab: Installation, shown: Credentials) -> None:
    """Add the share key of the world's first attestation, which follows from the keyring, and store the credentials."""
    shown["share_key"] = lab.links.share_key(UUID(str(shown["attestation_id"])))
    file = os.open(lab.settings.data / CREDENTIALS, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w") as target:
        json.dump(shown, target)


def read_credentials(folder: Path) -> Credentials | None:
    """Read the credentials of the demo in a folder; None if there is none."""
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
