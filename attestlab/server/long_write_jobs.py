"""The work of long writes in their child process (`core.execution.long_writes`).

The server imports this module and passes its functions to the process, which loads the installation.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager

from attestlab.core.clock import ContinuedClock
from attestlab.core.db.unreachable import is_unreachable
from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.core.execution.long_writes import ChildCall
from attestlab.settings import Settings

UNREACHABLE = "The database cannot be reached right now. Retry shortly."


def load_installation() -> None:
    """Load what every long write needs, so that the first one of this process does not wait for it."""
    from attestlab import installation  # noqa: F401  # loading it is the purpose


def perform(settings: Settings, call: ChildCall) -> object:
    """Run a verb on the installation of these settings, and return its result.

    Raises:
        AttestLabError: raised by the verb.
        Unavailable: the records cannot be reached, locked or read now.
    """
    from attestlab.installation import Installation

    try:
        with _without_collections(), closing(Installation.open(settings, clock=ContinuedClock(call.at))) as lab:
            verb = getattr(lab.services[call.service], call.verb)
            return verb(*call.arguments, **call.named)
    except AttestLabError:
        raise
    except Exception as error:
        if is_unreachable(error):
            raise Unavailable(UNREACHABLE) from error
        raise


@contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no garbage in the block: its rows stay until its end, and looking at them takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
