"""How long tests wait for what should take no time: they return at once, so only a hang takes this long.

A machine that is four times slower and fully loaded must still be quick enough; see `timeout` in pyproject.toml.
"""

WAIT_TIMEOUT_S = 120
