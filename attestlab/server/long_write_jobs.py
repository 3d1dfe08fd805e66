"""The work of long writes in their child process (`core.execution.long_writes`).

The server imports this module and passes its functions to the process, which loads the installation.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

from attestlab.core.clock import ContinuedClock
from attestlab.core.db.unreachable import is_unreachable
from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.core.execution.long_verbs import KeptCall
from attestlab.core.execution.long_writes import ChildCall
from attestlab.settings import Settings
from attestlab.web.idempotency import kept_results
from attestlab.web.idempotency.kept_results import KeyOfResult

if TYPE_CHECKING:
    from attestlab.installation import Installation

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
            verb = partial(getattr(lab.services[call.service], call.verb), *call.arguments, **call.named)
            return verb() if call.key is None else _call_and_keep(lab, call, verb)
    except AttestLabError:
        raise
    except Exception as error:
        if is_unreachable(error):
            raise Unavailable(UNREACHABLE) from error
        raise


def _call_and_keep(lab: Installation, call: ChildCall, verb: partial[object]) -> object:
    with lab.storage.write() as tx:
        result = verb(tx=tx)
        kept_results.keep(tx, cast(KeyOfResult, call.key), KeptCall(call.service, call.verb, result), lab.keyring)
    return result


@contextmanager
def _without_collections() -> Iterator[None]:
    """Collect no garbage in the block: its rows stay until its end, and looking at them takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
