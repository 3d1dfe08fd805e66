"""The feeder: submits the newest checkpoint to each witness and stores its cosignature (C2SP tlog-witness client).

It runs in the background and no mint waits for it: an unreachable witness costs its cosignature
and nothing else. One process of a data folder feeds; if two machines do, the witnesses treat both
the same.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from attestlab.core import atomic_files
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, IntegrityFailed, SignatureInvalid, Unavailable
from attestlab.core.fetching import Fetcher, FetchLimits, UnacceptableAnswer
from attestlab.log import store
from attestlab.log.note.note import VerifierKey, parse_decimal
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.service import Log
from attestlab.log.witnessing import cosignatures
from attestlab.log.witnessing.cosignatures import Cosignature
from attestlab.log.witnessing.submission_policy import PATH, SIZE_TYPE, Submission
from attestlab.web import logging_setup
from attestlab.web.supervisor import Round, Supervised, Supervisor

POLL_INTERVAL_S = 0.5
LOCK_RETRY_INTERVAL_S = 5.0
ROUND_TIMEOUT_S = 30.0  # for all exchanges with a witness in one round
REFRESH_INTERVAL = timedelta(hours=1)  # an idle log gets a newer cosignature, which proves that it is idle
LIMITS = FetchLimits(max_body_bytes=64 * 1024, deadline_s=20.0)  # for one response of a witness
MAX_CLOCK_SKEW = timedelta(minutes=5)  # as far a witness's clock may be ahead of this server's
MAX_PAUSE_S = 60.0
MAX_ATTEMPTS = 3
LOCK_NAME = "feeder.lock"

WriteJob = Callable[[Callable[[Transaction], object]], Coroutine[object, None, object]]
OnOutcome = Callable[[str, str, int | None], None]  # witness, outcome, size that was cosigned
Argument = TypeVar("Argument")
Result = TypeVar("Result")


class FeedOutcome(StrEnum):
    """The outcome of submitting a checkpoint to a witness."""

    COSIGNED = "cosigned"
    CURRENT = "current"  # it had already cosigned this checkpoint
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # it knows another tree, does not know this log, or returns no valid cosignature


@dataclass(frozen=True, slots=True)
class WitnessAddress:
    """A witness of the operator's policy: its name, its key, and its submission prefix."""

    name: str
    key: VerifierKey
    url: str


def witness_addresses(policy: TrustPolicy) -> list[WitnessAddress]:
    """The witnesses that have a URL to submit to; a witness without one only counts towards the quorum."""
    return [
        WitnessAddress(name.decode(errors="replace"), policy.witnesses[name], url.rstrip("/"))
        for name, url in policy.urls.items()
    ]


class Feeder:
    """Submits checkpoints to the witnesses of one log, from `start` to `finish`, or once with `feed`.

    `write` runs a job in a write transaction and returns when it is durable.
    """

    def __init__(
        self,
        log: Log,
        storage: Storage,
        *,
        write: WriteJob,
        clock: Clock,
        folder: Path,
        on_outcome: OnOutcome | None = None,
    ) -> None:
        self.witnesses = witness_addresses(log.witnesses) if log.witnesses else []
        self._log, self._storage, self._write, self._clock = log, storage, write, clock
        self._lock = folder / LOCK_NAME
        self._on_outcome = on_outcome or (lambda _witness, _outcome, _size: None)
        self._reader_pool = ThreadPoolExecutor(1, "attestlab-feeder")
        self._task: Supervised | None = None

    def start(self, background: Supervisor) -> None:
        """Start feeding in a task of the running event loop; does nothing without witnesses."""
        if self.witnesses:
            self._task = background.start("witness feeder", self._run)

    async def finish(self) -> None:
        """Stop immediately; a submission without a response is repeated after the next start."""
        if self._task is not None:
            await self._task.finish(within_s=0)
        await asyncio.to_thread(self._reader_pool.shutdown)

    async def feed(self) -> dict[str, FeedOutcome]:
        """Submit the newest checkpoint to every witness once; returns the outcomes by witness name."""
        with closing(Fetcher()) as fetcher:
            outcomes = await asyncio.gather(*(self._feed_witness(fetcher, witness) for witness in self.witnesses))
        return {witness.name: outcome for witness, outcome in zip(self.witnesses, outcomes, strict=True)}

    async def _run(self, completed_round: Round) -> None:
        async with self._hold_lock(completed_round):
            with closing(Fetcher()) as fetcher:
                async with asyncio.TaskGroup() as feeding:
                    for witness in self.witnesses:
                        feeding.create_task(self._feed_forever(fetcher, witness, completed_round))

    @asynccontextmanager
    async def _hold_lock(self, completed_round: Round) -> AsyncIterator[None]:
        """Wait for the folder's feeder lock and hold it; the death of a process releases its lock."""
        file = atomic_files.open_private(self._lock, os.O_RDWR)
        try:
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                completed_round()
                await asyncio.sleep(LOCK_RETRY_INTERVAL_S)
            yield
        finally:
            os.close(file)

    async def _feed_forever(self, fetcher: Fetcher, witness: WitnessAddress, completed_round: Round) -> None:
        """Feed one witness independently of the others; each failure doubles the pause, up to `MAX_PAUSE_S`."""
        pause = POLL_INTERVAL_S
        while True:
            outcome = await self._feed_witness(fetcher, witness)
            completed_round()
            failed = outcome in (FeedOutcome.UNREACHABLE, FeedOutcome.REFUSED)
            pause = min(2 * pause, MAX_PAUSE_S) if failed else POLL_INTERVAL_S
            await asyncio.sleep(pause)

    async def _feed_witness(self, fetcher: Fetcher, witness: WitnessAddress) -> FeedOutcome:
        size = None
        try:
            async with asyncio.timeout(ROUND_TIMEOUT_S):
                cosignature = await self._request_cosignature(fetcher, witness)
            outcome = FeedOutcome.CURRENT if cosignature is None else FeedOutcome.COSIGNED
            size = cosignature.tree_size if cosignature else None
        except UnacceptableAnswer as error:
            outcome = FeedOutcome.REFUSED
            logging_setup.log_part_failure(error, part=f"feeder of {witness.name}")
        except (TimeoutError, Unavailable):
            outcome = FeedOutcome.UNREACHABLE
        except AttestLabError as error:
            outcome = FeedOutcome.REFUSED
            logging_setup.log_part_failure(error, part=f"feeder of {witness.name}")
        except Exception as error:  # the records cannot be reached; the next round tries again
            outcome = FeedOutcome.UNREACHABLE
            logging_setup.log_part_failure(error, part=f"feeder of {witness.name}")
        if outcome is not FeedOutcome.CURRENT:
            self._on_outcome(witness.name, outcome.value, size)
        return outcome

    async def _request_cosignature(self, fetcher: Fetcher, witness: WitnessAddress) -> Cosignature | None:
        """Request and store the witness's cosignature of the newest checkpoint; None if it is stored already.

        Raises:
            Unavailable: the witness cannot be reached, or currently cannot do its work.
            UnacceptableAnswer: its response has too many bytes, or a content coding.
            IntegrityFailed: it knows another tree, or its response is not its cosignature.
        """
        known = await self._read(self._start_size, witness)
        if known is None:
            return None
        for _ in range(MAX_ATTEMPTS):
            submission, size = await self._read(self._submission, known)
            status, text = await _submit(fetcher, witness.url, submission)
            if status == 409:
                known = _parse_conflict_size(text, size, submission)
                continue
            if status != 200:
                raise _rejection_error(witness.name, status, text)
            return await self._verify_and_store(witness, submission, size, text)
        raise Unavailable(
            f"The witness {witness.name} and the log did not agree on a size in {MAX_ATTEMPTS} attempts; will retry."
        )

    def _start_size(self, records: Connection, witness: WitnessAddress) -> int | None:
        """The old size of the next submission; None if the witness recently cosigned the newest checkpoint."""
        last = store.last_cosignature(records, str(witness.key))
        if last is None:
            return 0
        is_fresh = self._clock.now() < last.at + REFRESH_INTERVAL
        return None if last.tree_size == self._log.size(records) and is_fresh else last.tree_size

    def _submission(self, records: Connection, begin: int) -> tuple[Submission, int]:
        """Build the submission of the newest checkpoint for a witness that knows the first `begin` entries."""
        head = self._log.head(records)
        if begin > head.size:
            raise IntegrityFailed(
                f"A witness cosigned {begin} entries and the records hold {head.size}: an older copy, or a fork."
            )
        own = store.checkpoint(records, head.size)
        assert own is not None  # every head in this snapshot has a checkpoint
        proof = self._log.consistency(records, begin, head.size).hashes
        return Submission(begin, tuple(proof), own.note), head.size

    async def _verify_and_store(self, witness: WitnessAddress, sent: Submission, size: int, lines: str) -> Cosignature:
        cosignature = Cosignature.verify(sent.checkpoint, size, witness.key, lines)
        if cosignature.at > self._clock.now() + MAX_CLOCK_SKEW:
            raise SignatureInvalid(f"The witness {witness.name} signed a time that is still to come.")
        await self._write(lambda tx: cosignatures.record(tx, cosignature))
        return cosignature

    async def _read(self, query: Callable[[Connection, Argument], Result], argument: Argument) -> Result:
        """Run a query in the feeder's own thread, which keeps its connection."""

        def run_query() -> Result:
            with self._storage.read() as records:
                return query(records, argument)

        return await asyncio.get_running_loop().run_in_executor(self._reader_pool, run_query)


async def _submit(fetcher: Fetcher, url: str, submission: Submission) -> tuple[int, str]:
    """Submit a checkpoint; returns status and body. A 409 without a size counts as 400, an ordinary rejection."""
    answer = await fetcher.post(url + PATH, submission.text.encode(), LIMITS)
    states_size = answer.content_type.partition(";")[0].strip() == SIZE_TYPE
    status = 400 if answer.status == 409 and not states_size else answer.status
    return status, answer.body.decode(errors="replace")


def _parse_conflict_size(text: str, size: int, sent: Submission) -> int:
    """Parse the size that a witness knows from the body of its 409.

    Raises:
        IntegrityFailed: the body is no size, or it is the size of the submission, so that the trees differ.
    """
    try:
        known = parse_decimal(text.removesuffix("\n"))
    except ValueError as error:
        raise IntegrityFailed(f"A witness returned 409 with an invalid size: {text[:100]!r}.") from error
    if known == sent.old_size:
        raise IntegrityFailed(f"A witness cosigned another tree of {known} entries than the one of these records.")
    return known


def _rejection_error(name: str, status: int, text: str) -> AttestLabError:
    message = f"The witness {name} answers {status}: {text[:200].strip()}"
    if status == 422:  # in tlog-witness: the same size with another root, or an invalid proof
        message += " These records are an older copy, or the log has forked: run `attestlab log fsck`."
    return Unavailable(message) if status >= 500 or status == 429 else IntegrityFailed(message)
