"""The world that `attestlab demo` serves: built once a day on a machine, and copied with secrets of each copy.

Its past ends when it is built, and is signed, so its times cannot be moved: on another day another one is built.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from attestlab.cli.rekey import rewrap
from attestlab.core import atomic_files
from attestlab.core.clock import SystemClock
from attestlab.core.crypto import keyring
from attestlab.demos import served
from attestlab.demos.history.year import ReportProgress, ignore_progress
from attestlab.demos.served import Credentials
from attestlab.embedded.demo_cache import copy_world
from attestlab.settings import Settings

_DRAFT: Final = "copying-"


def open_world(folder: Path, *, report_progress: ReportProgress = ignore_progress) -> Credentials:
    """Return the credentials of the demo in `folder`; create the demo, some of it from the cache, if there is none.

    `report_progress` gets the share that is done, up to 1.
    """
    found = served.read_credentials(folder)
    if found is not None:
        return found
    report_progress(0.0)
    if _has_place_for_copy(folder) and not os.environ.get(keyring.ENVIRONMENT_NAME):
        return _copy(folder, report_progress)
    return served.create_world(folder, report_progress=report_progress)


def _has_place_for_copy(folder: Path) -> bool:
    """Whether a folder is not there, or empty but for a copy that broke off."""
    return not folder.exists() or all(each.name.startswith(_DRAFT) for each in folder.iterdir())


def _copy(folder: Path, report_progress: ReportProgress) -> Credentials:
    """Copy today's world, and replace the key-encryption key and every secret that the original shares.

    All that is done in a draft, so that a copy that breaks off is never served with the secrets of the original. The
    credentials, which mark a demo as whole, leave the draft last.
    """

    def build(target: Path) -> None:
        served.create_world(target, report_progress=report_progress)

    atomic_files.make_private_folder(folder)
    with atomic_files.temporary_folder(_DRAFT, within=folder) as draft:
        copy_world(f"served-{SystemClock().now():%Y-%m-%d}", draft, build)
        rewrap(Settings(data=draft, database_url=None), {})
        shown = served.renew_credentials(draft)
        for each in sorted(draft.iterdir(), key=lambda path: path.name == served.CREDENTIALS):
            each.rename(folder / each.name)
    report_progress(1.0)
    return shown
