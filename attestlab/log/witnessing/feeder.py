"""The feeder: hands the newest checkpoint to each witness and keeps its cosignature (C2SP tlog-witness, the client).

It runs beside the requests and no mint waits for it: a witness that is away costs its
cosignature and nothing else. Of the processes of one data folder one feeds; where two machines
do, the witnesses answer both alike.
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
from typing import Any, TypeVar

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
ROUND_TIMEOUT_S = 30.0  # for all that is message to a witness in one turn
REFRESH_INTERVAL = timedelta(hours=1)  # a log at rest shows by a newer cosignature that it is at rest
LIMITS = FetchLimits(max_body_bytes=64 * 1024, deadline_s=20.0)  # of one answer of a witness
MAX_CLOCK_SKEW = timedelta(minutes=5)  # how much the clock of a witness may be ahead of ours
MAX_PAUSE_S = 60.0
MAX_ATTEMPTS = 3
LOCK_NAME = "feeder.lock"

Write = Callable[[Callable[[Transaction], Any]], Coroutine[Any, Any, Any]]
OnOutcome = Callable[[str, str, int | None], None]  # witness, outcome, size that was cosigned
Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Outcome(StrEnum):
    """What came of handing a checkpoint to a witness."""

    COSIGNED = "cosigned"
    CURRENT = "current"  # it had cosigned this one
    UNREACHABLE = "unreachable"
    REFUSED = "refused"  # it knows another tree, does not know us, or answers with what is no cosignature


@dataclass(frozen=True, slots=True)
class WitnessAddress:
    """A witness as the operator wrote it down: its name in the policy, its key, and its submission prefix."""

    name: str
    key: VerifierKey
    url: str


def witness_addresses(policy: TrustPolicy) -> list[WitnessAddress]:
    """The witnesses that can be asked; one without a URL only counts towards the quorum."""
    return [
        WitnessAddress(name.decode(errors="replace"), policy.witnesses[name], url.rstrip("/"))
        for name, url in policy.urls.items()
    ]


class Feeder:
    """Feeds the witnesses of one log, from `start` to `finish`, or once with `feed`.

    `write` runs a job in a write transaction and returns when it is durable.
    """

    def __init__(
        self,
        log: Log,
        storage: Storage,
        *,
        write: Write,
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
        """Begin to feed, in a task of the running loop; without witnesses there is nothing to do."""
        if self.witnesses:
            self._task = background.start("witness feeder", self._run)

    async def finish(self) -> None:
        """Stop at once; what a witness had not answered yet is handed to it again another day."""
        if self._task is not None:
            await self._task.finish(within_s=0)
        await asyncio.to_thread(self._reader_pool.shutdown)

    async def feed(self) -> dict[str, Outcome]:
        """Hand the newest checkpoint to every witness once; what came of it, by the witness's name."""
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
        """Wait until no other process of this folder feeds; its death lets go of the lock."""
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
        """One witness, whatever becomes of the others; one that fails is asked less and less often."""
        pause = POLL_INTERVAL_S
        while True:
            outcome = await self._feed_witness(fetcher, witness)
            completed_round()
            failed = outcome in (Outcome.UNREACHABLE, Outcome.REFUSED)
            pause = min(2 * pause, MAX_PAUSE_S) if failed else POLL_INTERVAL_S
            await asyncio.sleep(pause)

    async def _feed_witness(self, fetcher: Fetcher, witness: WitnessAddress) -> Outcome:
        size = None
        try:
            async with asyncio.timeout(ROUND_TIMEOUT_S):
                cosignature = await self._request_cosignature(fetcher, witness)
            outcome = Outcome.CURRENT if cosignature is None else Outcome.COSIGNED
            size = cosignature.tree_size if cosignature else None
        except UnacceptableAnswer as error:
            outcome = Outcome.REFUSED
            logging_setup.log_part_failure(error, part=f"feeder of {witness.name}")
        except (TimeoutError, Unavailable):
            outcome = Outcome.UNREACHABLE
        except AttestLabError as error:
            outcome = Outcome.REFUSED
            logging_setup.log_part_failure(error, part=f"feeder of {witness.name}")
        except Exception as error:  # the records cannot be reached; feeding goes on when they can
            outcome = Outcome.UNREACHABLE
            logging_setup.log_part_failure(error, part=f"feeder of {witness.name}")
        if outcome is not Outcome.CURRENT:
            self._on_outcome(witness.name, outcome.value, size)
        return outcome

    async def _request_cosignature(self, fetcher: Fetcher, witness: WitnessAddress) -> Cosignature | None:
        """The witness's cosignature of the newest checkpoint, kept; None where it was there already.

        Raises:
            Unavailable: the witness cannot be reached, or cannot do its work at the moment.
            UnacceptableAnswer: it answers with too many bytes, or in a content coding.
            IntegrityFailed: it knows another tree, or what it answers is no cosignature of its own.
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
        raise Unavailable(f"The witness {witness.name} and the log do not meet; trying again later.")

    def _start_size(self, records: Connection, witness: WitnessAddress) -> int | None:
        """Where a submission has to begin; None where the witness has just cosigned what is newest."""
        last = store.last_cosignature(records, str(witness.key))
        if last is None:
            return 0
        is_fresh = self._clock.now() < last.at + REFRESH_INTERVAL
        return None if last.tree_size == self._log.size(records) and is_fresh else last.tree_size

    def _submission(self, records: Connection, begin: int) -> tuple[Submission, int]:
        """The newest checkpoint for a witness that knows the first `begin` entries; and its size."""
        head = self._log.head(records)
        if begin > head.size:
            raise IntegrityFailed(
                f"A witness cosigned {begin} entries and the records hold {head.size}: an older copy, or a fork."
            )
        own = store.checkpoint(records, head.size)
        assert own is not None  # the head of this look at the records has one
        proof = self._log.consistency(records, begin, head.size).hashes
        return Submission(begin, tuple(proof), own.note), head.size

    async def _verify_and_store(self, witness: WitnessAddress, sent: Submission, size: int, lines: str) -> Cosignature:
        cosignature = Cosignature.verify(sent.checkpoint, size, witness.key, lines)
        if cosignature.at > self._clock.now() + MAX_CLOCK_SKEW:
            raise SignatureInvalid(f"The witness {witness.name} signed a time that is still to come.")
        await self._write(lambda tx: cosignatures.record(tx, cosignature))
        return cosignature

    async def _read(self, query: Callable[[Connection, Argument], Result], argument: Argument) -> Result:
        """Look at the records in a thread of our own, which keeps its connection."""

        def run_query() -> Result:
            with self._storage.read() as records:
                return query(records, argument)

        return await asyncio.get_running_loop().run_in_executor(self._reader_pool, run_query)


async def _submit(fetcher: Fetcher, url: str, submission: Submission) -> tuple[int, str]:
    """Status and body of a witness's answer; a 409 without the size it should tell is any other refusal."""
    answer = await fetcher.post(url + PATH, submission.text.encode(), LIMITS)
    states_size = answer.content_type.partition(";")[0].strip() == SIZE_TYPE
    status = 400 if answer.status == 409 and not states_size else answer.status
    return status, answer.body.decode(errors="replace")


def _parse_conflict_size(text: str, size: int, sent: Submission) -> int:
    """The size that a witness knows, by the body of its 409.

    Raises:
        IntegrityFailed: it is no size, or the one from which we began: then the trees differ.
    """
    try:
        known = parse_decimal(text.removesuffix("\n"))
    except ValueError as error:
        raise IntegrityFailed(f"A witness answers 409 with what is not a size: {text[:100]!r}.") from error
    if known == sent.old_size:
        raise IntegrityFailed(f"A witness cosigned another tree of {known} entries than the one of these records.")
    return known


def _rejection_error(name: str, status: int, text: str) -> AttestLabError:
    message = f"The witness {name} answers {status}: {text[:200].strip()}"
    if status == 422:  # of tlog-witness: the same size with another root, or a proof that does not hold
        message += " These records are an older copy, or the log has forked: run `attestlab log fsck`."
    return Unavailable(message) if status >= 500 or status == 429 else IntegrityFailed(message)
