"""The documents that this process wrote in its last slices of learning, so that the next one does not read them again.

They are valid as long as the tenant's state is the one that the last slice left: whatever else changes documents that
the learner writes also moves the cursor, or makes the draft stale.
"""

from __future__ import annotations

from collections.abc import Mapping

from attestlab.risk.account_takeover.tables import LoginLearningRecord
from attestlab.risk.logins.state.documents import Document

MAX_DOCUMENTS = 8_000  # some 40 MiB


class LearntDocuments:
    """Documents by digest, of one tenant; `remember` is called once a slice is durable."""

    def __init__(self) -> None:
        self._place: tuple[object, ...] = ()
        self._documents: dict[bytes, Document] = {}

    def find(self, state: LoginLearningRecord) -> Mapping[bytes, Document]:
        """Return what is known of the documents in the draft of a state; they are not to be changed."""
        return self._documents if self._place == _get_place(state) else {}

    def remember(
        self, before: LoginLearningRecord, after: LoginLearningRecord, documents: Mapping[bytes, Document]
    ) -> None:
        """Add the documents of the slice that led from one state to the next."""
        known = {**self.find(before), **documents}
        self._documents = known if len(known) <= MAX_DOCUMENTS else dict(documents)
        self._place = _get_place(after)


def _get_place(state: LoginLearningRecord) -> tuple[object, ...]:
    return state.tenant_id, state.draft, state.cursor_ms, state.cursor_id
