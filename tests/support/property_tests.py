"""How many examples a property is tried with: few in its bounded form, many in its full form."""

from __future__ import annotations

from hypothesis import settings

SAME_EXAMPLES, NEW_SEEDS, SOAK = "same-examples", "new-seeds", "soak"


def register_profiles() -> None:
    """Let pytest know the profiles by their names, and begin with the one of `make test`.

    `make test` tries the same examples each time, so that a new one refuses no change that has nothing to do with it.
    The shards try new ones: the gate prints their seed, and a failure its example. None has a deadline: a busy
    machine is no defect.
    """
    settings.register_profile(SAME_EXAMPLES, derandomize=True, deadline=None)
    settings.register_profile(NEW_SEEDS, deadline=None, print_blob=True)
    settings.register_profile(SOAK, deadline=None, print_blob=True)
    settings.load_profile(SAME_EXAMPLES)


def examples(few: int, *, many: int) -> int:
    """`many` under `--hypothesis-profile soak`; a test that asks is marked `more_in_soak`."""
    return many if settings.get_current_profile_name() == SOAK else few
