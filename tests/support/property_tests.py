"""How many examples a property is tried with: few in `make test`, many in `make soak`."""

from __future__ import annotations

from hypothesis import settings

SOAK = "soak"


def register_soak_profile() -> None:
    """Let pytest know the profile by its name."""
    settings.register_profile(SOAK, deadline=None)


def examples(few: int, *, many: int) -> int:
    """`many` under `--hypothesis-profile soak`; a test that asks is marked `more_in_soak`."""
    return many if settings.get_current_profile_name() == SOAK else few
