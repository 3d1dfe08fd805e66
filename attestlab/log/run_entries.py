"""Log entries of runs of agents (CONTRACT 11.12).

The log is public, so the entry names the run by its id and its hash; agents and steps are known to the tenant, and to
those who get a proof bundle.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.core.encoding import format_time
from attestlab.log.entries import FIRST_LINK, EntryType, build_entry


def run_completed_entry(*, orchestration_id: UUID, status: str, run_hash: str, at: datetime) -> bytes:
    """The one entry of a run, made when it ends."""
    return build_entry(
        EntryType.RUN_COMPLETED,
        orchestration_id=orchestration_id,
        status=status,
        run_hash=run_hash,
        at=format_time(at),
        **FIRST_LINK.members(),
    )


def run_subject(orchestration_id: UUID | str) -> str:
    """The name of the chain of one run's entries."""
    return f"run:{orchestration_id}"
