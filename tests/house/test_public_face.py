"""The public face fits on a screen, is true, and costs nothing to look at."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import attestlab


@pytest.mark.parametrize("name", attestlab.__all__)
def test_every_public_name_exists_and_says_what_it_is(name: str) -> None:
    found = getattr(attestlab, name)

    assert found.__doc__
    assert found.__module__.startswith("attestlab.")


def test_the_public_face_fits_on_a_screen_and_lists_itself() -> None:
    assert len(attestlab.__all__) <= 30
    assert set(attestlab._HOMES) == set(attestlab.__all__)
    assert set(attestlab.__all__) < set(dir(attestlab))


def test_a_name_that_is_not_there_says_what_is() -> None:
    with pytest.raises(AttributeError, match="demo_world"):
        attestlab.demo_wrold  # noqa: B018  the point is to ask


def test_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())

    assert attestlab.__version__ == project["project"]["version"]
