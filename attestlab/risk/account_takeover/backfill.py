"""Loading a past of logins: rows are kept, and a learner takes them into the documents in the order of time.

What documents learn depends on the order of logins, and an older login may come in a later request. So rows are kept
until the load has ended, a day after the last one came. Drafts of documents learn them in slices. If a row comes that
belongs before what the draft has learnt, the draft begins again, from the documents that were there before the load
and with every row: later scores are those of a life in the right order. To begin again costs as much as all rows, so it
waits until no more rows come, or until there are twice as many.

During a load, the published documents score live logins and learn from them at once. Their rows are kept, too, and the
draft learns them in the order of their arrival. Under the writer's lock, each slice continues from the cursor that
the last one left, so any number of processes may learn; a killed one loses the slice that it was in.

The documents that this process wrote in its last slices are remembered, so that the next one does not read them again.
They are valid as long as the tenant's state is the one that the last slice left: whatever else changes documents that
the learner writes also moves the cursor, or makes the draft stale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice, takewhile
from typing import NamedTuple
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable
from attestlab.core.ids import new_id
from attestlab.orgs.rules import Caller
from attestlab.risk.account_takeover import store
from attestlab.risk.account_takeover.store import KeptLoginRecord, LoginLearningRecord, StoredDocuments
from attestlab.risk.logins.circumstances import (
    LoginTrace,
    TraceEvent,
    digest_trace,
    pack_trace,
    read_digest,
    unpack_trace,
)
from attestlab.risk.logins.detector import confirm_trace, evaluate_trace
from attestlab.risk.logins.documents import DetectorDocument, DocumentKey
from attestlab.risk.logins.login import count_ms

MAX_DOCUMENTS = 8_000  # that are remembered; some 40 MiB
LOAD_TTL = timedelta(days=1)  # after the last row; then the load has ended
MAX_DELAY = timedelta(days=3)  # a login may be reported so much later; its windows reach as far back
NEWEST_INTERVAL = timedelta(hours=1)  # between two updates of the time of a tenant's newest login

MustEnd = Callable[[int], bool]  # whether a slice must end after this number of rows


class LearntDocuments:
    """Documents of one tenant; `remember` is called once a slice is durable."""

    def __init__(self) -> None:
        self._place: tuple[object, ...] = ()
        self._documents: dict[DocumentKey, DetectorDocument] = {}

    def find(self, state: LoginLearningRecord) -> Mapping[DocumentKey, DetectorDocument]:
        """Return what is known of the documents in the draft of a state; they are not to be changed."""
        return self._documents if self._place == _get_place(state) else {}

    def remember(
        self, before: LoginLearningRecord, after: LoginLearningRecord, documents: Mapping[DocumentKey, DetectorDocument]
    ) -> None:
        """Add the documents of the slice that led from one state to the next; the least recently used go."""
        known = self._documents if self._place == _get_place(before) else {}
        for key, document in documents.items():
            known.pop(key, None)
            known[key] = document
        for key in list(islice(known, max(0, len(known) - MAX_DOCUMENTS))):
            del known[key]
        self._documents = known
        self._place = _get_place(after)


def _get_place(state: LoginLearningRecord) -> tuple[object, ...]:
    return state.tenant_id, state.draft, state.cursor_ms, state.cursor_id


class BackfillProgress(NamedTuple):
    """How many logins of the past were accepted, each once, and how many of them are learnt."""

    accepted: int
    learnt: int


class PackedLogin(NamedTuple):
    """A login of the past as it is kept: its time in milliseconds, its packed trace, and the digest of that."""

    at_ms: int
    digest: bytes
    trace: bytes

    @classmethod
    def of(cls, trace: LoginTrace) -> PackedLogin:
        """Pack a trace."""
        packed = pack_trace(trace)
        return cls(trace.at_ms, digest_trace(packed), packed)


class LoginBackfill:
    """Keeps the logins of a past, and learns them; `tx` is the unit of work to join."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock
        self._learnt = LearntDocuments()
        self.on_kept: list[Callable[[], None]] = []  # called, from any thread, once logins of the past are durable

    def progress(self, *, caller: Caller) -> BackfillProgress:
        """Return how much of the tenant's past is learnt; both numbers are equal when all is."""
        with self.storage.read() as connection:
            found = store.find_learning(connection.execute, caller.tenant_id)
        return BackfillProgress(found.accepted, found.learnt) if found else BackfillProgress(0, 0)

    def keep(self, tx: Transaction, tenant_id: UUID, logins: Sequence[PackedLogin]) -> None:
        """Keep logins of the past until the load ends; one that is kept already counts once.

        Raises:
            Unavailable: the rows of an earlier load are still being deleted.
        """
        if not logins:
            return
        state = self._open_load(store.find_learning(tx.exec, tenant_id), tenant_id, logins[0].at_ms)
        rows = [KeptLoginRecord(tenant_id, each.at_ms, each.digest, True, each.trace) for each in logins]
        new = store.add_new_logins(tx, tenant_id, rows)
        is_late = bool(new) and (new[0].order_ms, new[0].id) < (state.cursor_ms, state.cursor_id)
        accepted = state.accepted + len(new)
        began_with = state.began_with or accepted
        changed = state._replace(accepted=accepted, began_with=began_with, is_stale=state.is_stale or is_late)
        store.save_learning(tx, changed._replace(loaded_at=self.clock.now()))
        tx.after_commit(self._notify_kept)

    def note(self, tx: Transaction, state: LoginLearningRecord | None, tenant_id: UUID, trace: LoginTrace) -> None:
        """Note that the published documents have learnt a login, or a confirmation, that is not of the past."""
        at = _to_time(trace.at_ms)
        known = state or LoginLearningRecord(tenant_id, at, at)
        changed = known
        if state is None or at >= known.newest_at + NEWEST_INTERVAL:
            changed = known._replace(newest_at=at)
        if known.is_loading:
            changed = self._keep_present(tx, changed, trace)
        if changed is not state:
            store.save_learning(tx, changed)

    def list_unlearnt(self) -> list[LoginLearningRecord]:
        """List the tenants whose past is not learnt yet."""
        with self.storage.read() as connection:
            return store.list_unlearnt(connection.execute)

    def learn(
        self, tx: Transaction, tenant_id: UUID, *, at_most: int, is_quiet: bool, must_end: MustEnd = lambda _: False
    ) -> bool:
        """Learn at most `at_most` further rows of a tenant; returns whether anything was done.

        Args:
            is_quiet: whether no rows of the past have come for a while.
            must_end: asked after each row, with the number of rows: others may wait for the writer's lock.
        """
        before = store.find_learning(tx.exec, tenant_id)
        if before is None or not before.is_loading:
            return False
        if before.is_stale and not is_quiet and before.accepted < 2 * before.began_with:
            return False
        state = _begin_again(before) if before.is_stale else before
        learnt = self._learn_next(tx, state, at_most, must_end, is_quiet=is_quiet)
        if learnt == before:
            return False
        store.save_learning(tx, learnt)
        return True

    def prune(self, tx: Transaction, *, at_most: int) -> int:
        """Delete at most `at_most` rows that no score depends on any more; returns their number."""
        left = at_most
        for work in (self._delete_garbage, self._end_loads, self._delete_expired):
            left -= work(tx, left) if left else 0
        return at_most - left

    def _notify_kept(self) -> None:
        for callback in self.on_kept:
            callback()

    def _open_load(self, state: LoginLearningRecord | None, tenant_id: UUID, first_ms: int) -> LoginLearningRecord:
        """Return the state of the tenant's load, or of a new one, which leaves the documents until then unchanged."""
        at = _to_time(first_ms)
        state = state or LoginLearningRecord(tenant_id, at, at)
        if state.is_ending:
            raise Unavailable("The rows of an earlier past are still being deleted. Retry in a minute.")
        if state.is_loading:
            return state
        new = LoginLearningRecord(tenant_id, state.newest_at, state.pruned_until, base=state.published)
        return new._replace(published=new.base + 1, draft=new.base + 1, has_garbage=state.has_garbage)

    def _keep_present(self, tx: Transaction, state: LoginLearningRecord, trace: LoginTrace) -> LoginLearningRecord:
        """Keep what the published documents have learnt; out of turn, if rows of the past wait for theirs."""
        now = self.clock.now()
        order_ms = max(count_ms(now), state.cursor_ms + 1)
        row = KeptLoginRecord(state.tenant_id, order_ms, new_id(now).bytes, False, pack_trace(trace))
        tx.add(store.kept, row)
        if state.writes_drafts:
            return state
        if state.learnt < state.accepted:
            return state._replace(is_stale=True)
        return state._replace(cursor_ms=row.order_ms, cursor_id=row.id)

    def _learn_next(
        self, tx: Transaction, state: LoginLearningRecord, at_most: int, must_end: MustEnd, *, is_quiet: bool
    ) -> LoginLearningRecord:
        rows = store.list_next_logins(tx, state, limit=at_most)
        is_whole = len(rows) < at_most
        if state.writes_drafts and not is_quiet:  # further rows of the past would come too late for what follows
            rows, is_whole = list(takewhile(lambda row: row.is_past, rows)), False
        if rows:
            generations = {"generation": state.draft, "base": state.base}
            stored = StoredDocuments(tx, state.tenant_id, find_digest=read_digest, **generations)
            traces = [unpack_trace(row.trace) for row in rows]
            documents, count = learn_traces(stored, traces, self._learnt.find(state), must_end)
            before, state = state, _move_cursor(state, rows[:count], max(trace.at_ms for trace in traces[:count]))
            is_whole = is_whole and count == len(rows)
            tx.after_commit(partial(self._learnt.remember, before, state, documents))
        if state.writes_drafts and is_whole:
            state = state._replace(published=state.draft, has_garbage=True)
        return state

    def _end_loads(self, tx: Transaction, limit: int) -> int:
        """Delete the rows of loads that have ended, and make the documents those of one generation."""
        for state in store.list_loaded(tx.exec, before=self.clock.now() - LOAD_TTL):
            if not state.is_ending:
                store.save_learning(tx, state._replace(is_ending=True))
            deleted = store.delete_logins(tx, state.tenant_id, limit=limit)
            deleted = deleted or store.fold_base(tx, state, limit=limit)
            if not deleted:
                ended = state._replace(base=state.published, loaded_at=None, is_ending=False)
                store.save_learning(tx, ended._replace(pruned_until=_to_time(0)))
            return deleted or 1
        return 0

    def _delete_garbage(self, tx: Transaction, limit: int) -> int:
        for state in store.list_with_garbage(tx.exec):
            deleted = store.delete_garbage(tx, state, limit=limit)
            if not deleted:
                store.save_learning(tx, state._replace(has_garbage=False))
            return deleted or 1
        return 0

    def _delete_expired(self, tx: Transaction, limit: int) -> int:
        """Delete documents that had expired before any login that may still come."""
        for state in store.list_unpruned(tx.exec):
            deleted = store.delete_expired(tx, state.tenant_id, before=state.newest_at - MAX_DELAY, limit=limit)
            if deleted < limit:
                store.save_learning(tx, state._replace(pruned_until=state.newest_at))
            return deleted or 1
        return 0


def learn_traces(
    stored: StoredDocuments,
    traces: Sequence[LoginTrace],
    known: Mapping[DocumentKey, DetectorDocument],
    must_end: MustEnd,
) -> tuple[dict[DocumentKey, DetectorDocument], int]:
    """Let documents learn traces in turn; returns all that were read or written, and how many traces they learnt.

    Args:
        known: documents that need not be read.
    """
    keys = {key for trace in traces for key in trace.keys.values()}
    documents = {key: known[key] for key in keys if key in known}
    documents |= stored.load([key for key in keys if key not in documents])
    changed: dict[DocumentKey, DetectorDocument] = {}
    count = 0
    for count, trace in enumerate(traces, 1):
        new = _learn_trace(trace, documents)
        documents |= new
        changed |= new
        if must_end(count):
            break
    stored.save(changed)
    return documents, count


def _learn_trace(
    trace: LoginTrace, known: Mapping[DocumentKey, DetectorDocument]
) -> dict[DocumentKey, DetectorDocument]:
    if trace.event is TraceEvent.CONFIRMATION:
        return confirm_trace(trace, known)
    return evaluate_trace(trace, known).changed


def _begin_again(state: LoginLearningRecord) -> LoginLearningRecord:
    return state._replace(
        draft=state.draft + 1,
        cursor_ms=0,
        cursor_id=b"",
        learnt=0,
        began_with=state.accepted,
        is_stale=False,
        has_garbage=True,
    )


def _move_cursor(state: LoginLearningRecord, rows: Sequence[KeptLoginRecord], newest_ms: int) -> LoginLearningRecord:
    return state._replace(
        cursor_ms=rows[-1].order_ms,
        cursor_id=rows[-1].id,
        learnt=state.learnt + sum(row.is_past for row in rows),
        newest_at=max(state.newest_at, _to_time(newest_ms)),
    )


def _to_time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)
