"""Where the navigation of all pages leads: to the dashboards only on a server that has them.

Errors have pages too, also those that no capability answers. So this is a fact of the process, which the server states
before it accepts the first request, and the templates read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass
class Navigation:
    """What the pages of this process may link to. An application without a server process has no dashboards."""

    has_dashboards: bool = False


NAVIGATION: Final = Navigation()
