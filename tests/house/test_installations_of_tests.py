"""The installation of a test ends with the test, also when the check after it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from support.installations import InstallationTemplate


@pytest.mark.both_engines
def test_installation_is_closed_when_its_check_fails(
    make_template: Callable[[str], InstallationTemplate],
    engine: str,
    tmp_path: Path,
    clock: FixedClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it leaves open would fail whichever test runs when the garbage is collected."""
    closed: list[Installation] = []
    close = Installation.close
    monkeypatch.setattr(Installation, "close", lambda lab: [closed.append(lab), close(lab)])

    with (
        pytest.raises(AssertionError, match="not clean"),
        make_template(engine).open_in(tmp_path, clock) as lab,
    ):
        raise AssertionError("not clean")

    assert closed[-1:] == [lab]
