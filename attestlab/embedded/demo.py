"""`attestlab.demo`: a lab on a generated world, a private copy that ends with the lab."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from attestlab.client.lab import Lab
from attestlab.core.clock import FixedClock, truncate_to_milliseconds
from attestlab.core.errors import ValidationFailed
from attestlab.embedded.demo_cache import copy_world
from attestlab.embedded.opening import serve
from attestlab.installation import Installation
from attestlab.settings import Settings

WORLD_END = datetime(2026, 11, 2, 12, tzinfo=UTC)  # Monday noon, when each demo begins
DEFAULT_SEED = 7
_BAR_CHARACTERS = 30


class RunningClock:
    """A clock that starts at a fixed time when it is made, and runs from there."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._origin_s = monotonic()

    def now(self) -> datetime:
        """Return the current time of the world."""
        return truncate_to_milliseconds(self._start + timedelta(seconds=monotonic() - self._origin_s))


class ProgressBar:
    """One line on stderr that shows how much of a long work is done."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._percent = -1

    def show(self, share: float) -> None:
        """Show that `share` of the work, from 0 to 1, is done."""
        percent = min(100, int(share * 100))
        if percent != self._percent:
            self._percent = percent
            full = "#" * (percent * _BAR_CHARACTERS // 100)
            self._write(f"\r{self._what} [{full:<{_BAR_CHARACTERS}}] {percent:3} %")

    def finish(self) -> None:
        """End the line."""
        if self._percent >= 0:
            self._write("\n")

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()


def demo(seed: int = DEFAULT_SEED, *, history: bool = True) -> Lab:
    """Open a demo world in this process; a context manager.

    The world is always the same but for its ids and keys: eight issuers, a year of attestations, policy decisions and
    risk signals, up to noon of 2 November 2026, when its clock starts. The first call on a machine builds it, in some
    fifteen seconds, into the user's cache; each lab gets a copy of its own, which ends with it.

    Three people can sign in with `lab.as_(address, password="only for the demo")`, for what needs a person or a second
    one: ann@demo.example (owner), ben@demo.example (admin) and rita@demo.example (reviewer of the platform).

    Args:
        seed: of what is drawn; another seed is another world.
        history: False for the documents alone, without a past; then the first call takes a second.

    Raises:
        ValidationFailed: the seed is no number from 0.
    """
    _require_seed(seed)
    folder = TemporaryDirectory(prefix="attestlab-demo-")
    try:
        data = Path(folder.name) / "lab"
        copy_world(f"{seed}{'' if history else '-new'}", data, partial(_build, seed=seed, history=history))
        installation = Installation.open(Settings(data=data, database_url=None), clock=RunningClock(WORLD_END))
    except BaseException:
        folder.cleanup()
        raise
    return serve(installation, place=f"demo, seed {seed}", on_closed=folder.cleanup)


def _require_seed(seed: object) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ValidationFailed(f"seed={seed!r} is no number from 0. Call attestlab.demo(seed=7).")


def _build(folder: Path, *, seed: int, history: bool) -> None:
    from attestlab.demos.people import add_people  # only the first call on a machine needs these
    from attestlab.demos.world import demo_world

    bar = ProgressBar("Building the demo world, once on this machine")
    try:
        world = demo_world(folder, clock=FixedClock(WORLD_END), history=history, seed=seed, report_progress=bar.show)
        with world.lab.storage.write() as tx:
            world.lab.list_statuses(tx)  # so that a bundle proves what did not change
        add_people(world)
        world.lab.lake.export()  # the records would take seconds for what Parquet answers in milliseconds
        world.lab.close()
    finally:
        bar.finish()
