"""A plugin of pytest that keeps the tests of a selection, which the gate wrote to a file, and deselects the others."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from zlib import crc32

import pytest

from gate.tiers import Selection

FILE = "GATE_SELECTION"
"""Names the environment variable with the path of the file."""


def write_selection(selection: Selection, file: Path) -> Mapping[str, str]:
    """Write a selection; returns the environment in which the plugin reads it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({name: list(value) for name, value in asdict(selection).items()}))
    return {FILE: str(file)}


def read_selection(file: Path) -> Selection:
    """Read what `write_selection` wrote."""
    found = json.loads(file.read_text())
    number, of = found["share"]
    return Selection(frozenset(found["wanted"]), frozenset(found["unwanted"]), (number, of))


def is_selected(selection: Selection, test: str) -> bool:
    """Whether a test is run. Tests that are not listed are shared by a hash of their name, the same everywhere."""
    if test in selection.wanted or test in selection.unwanted:
        return test in selection.wanted
    number, of = selection.share
    return of > 0 and crc32(test.encode()) % of == number


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not of the selection."""
    if FILE in os.environ:
        selection = read_selection(Path(os.environ[FILE]))
        others = [item for item in items if not is_selected(selection, item.nodeid)]
        items[:] = [item for item in items if is_selected(selection, item.nodeid)]
        config.hook.pytest_deselected(items=others)
