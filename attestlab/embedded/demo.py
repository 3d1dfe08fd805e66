"""`attestlab.demo`: a lab on a generated world, a private copy that ends with the lab."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic

from attestlab.client.lab import Lab
from attestlab.client.progress import show_progress
from attestlab.core import atomic_files
from attestlab.core.clock import FixedClock, truncate_to_milliseconds
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import require_extra
from attestlab.demos import DEFAULT_SEED
from attestlab.embedded.demo_cache import copy_world
from attestlab.embedded.opening import serve
from attestlab.installation import Installation
from attestlab.settings import Settings

WORLD_END = datetime(2026, 11, 2, 12, tzinfo=UTC)  # Monday noon, when each demo begins
MAX_SEED = 2**63 - 1
_PERCENT = 100


class RunningClock:
    """A clock that starts at a fixed time when it is made, and runs from there."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._origin_s = monotonic()

    def now(self) -> datetime:
        """Return the current time of the world."""
        return truncate_to_milliseconds(self._start + timedelta(seconds=monotonic() - self._origin_s))


def demo(seed: int = DEFAULT_SEED, *, history: bool = True) -> Lab:
    """Open a demo world in this process; a context manager.

    The world is that of `attestlab demo`, and always the same but for its ids and keys: eight issuers and that of the
    platform, a year of attestations, receipts, verifications, policy decisions and risk signals, up to noon of 2
    November 2026, when its clock starts. The first call on a machine builds it, in some twenty seconds, into the user's
    cache; each lab gets a copy, which is deleted when the lab is closed.

    Three people can sign in with `lab.as_(address, password="only for the demo")`, for what needs a person or a second
    one: ann@demo.example (owner), ben@demo.example (admin) and rita@demo.example (reviewer of the platform). So can
    three consumers, who have an inbox: ada@people.example, emmy@people.example and grace@people.example.

    Args:
        seed: of what is drawn; another seed is another world.
        history: False for the documents alone, without a past; then the first call takes a second.

    Returns:
        The lab of the demo's owner; leaving its `with` block, or `close`, removes its copy.

    Raises:
        ValidationFailed: the seed is no number from 0.
        MissingExtra: a package of the extra `server` is not installed.

    >>> import attestlab
    >>> with attestlab.demo() as lab:
    ...     print(len(lab.signals), lab.issuers["Delta Clinics"].trust_tier)
    100216 VERIFIED
    """
    _require_seed(seed)
    require_extra("server")
    with ExitStack() as stack:
        data = stack.enter_context(atomic_files.temporary_folder("attestlab-demo-")) / "lab"
        copy_demo(data, seed=seed, history=history)
        installation = Installation.open(Settings(data=data, database_url=None), clock=RunningClock(WORLD_END))
        return serve(installation, place=f"demo, seed {seed}", on_closed=stack.pop_all().close)


def _require_seed(seed: object) -> None:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed <= MAX_SEED:
        shown = "out of range" if isinstance(seed, int) and not isinstance(seed, bool) else f"a {type(seed).__name__}"
        raise ValidationFailed(f"seed is {shown}, not a number from 0. Call attestlab.demo(seed=7).")


def copy_demo(data: Path, *, seed: int = DEFAULT_SEED, history: bool = True) -> None:
    """Copy the world of `demo` to the folder `data`, which does not exist yet."""
    copy_world(f"{seed}{'' if history else '-new'}", data, partial(_build, seed=seed, history=history))


def _build(folder: Path, *, seed: int, history: bool) -> None:
    from attestlab.demos.people import PASSWORD  # only the first call on a machine needs these
    from attestlab.demos.world import demo_world

    with show_progress("Building the demo world, once on this machine", _PERCENT) as bar:

        def report_progress(share: float) -> None:
            bar.advance(int(share * _PERCENT) - bar.done)

        clock = FixedClock(WORLD_END)
        world = demo_world(
            folder, clock=clock, history=history, seed=seed, password=PASSWORD, report_progress=report_progress
        )
        world.lab.lake.export()  # the records would take seconds for what Parquet answers in milliseconds
        world.lab.close()
