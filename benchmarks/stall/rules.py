"""The four rules that judge an answer. Where an answer breaks one, the rule measures again before it reports a defect.

- No stall: no answer of `/healthz` is later than 100 ms beyond what the control nearby shows, in each of three
  attempts. The control is the longest wait for `/healthz` right after an attempt, without an attack and for as long
  as the attempt took, and to it comes the time for which the server's threads were ready to run and had no processor.
  So a machine that is busy with something else may hide a stall, and makes none up.
- No answer over 64 kB that the client did not ask for. A client asks for one thing by its id, or for so many rows
  of a list (`limit`; 50 where the request names none, by contract) of at most 2 kB each. No client asks for an error.
- Twice the input costs at most 2.5 times as much, in processor time of the server and its children, which a busy
  machine changes little; the two sizes are measured in turns, up to four times, and the least ratio counts. Under
  0.2 s it does not count: there the processor's caches decide.
- The server decides: no answer is a 5xx, except 503 for a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.stall.server_under_attack import Outcome, ServerUnderAttack
from benchmarks.stall.shapes import Case
from benchmarks.stall.targets import MAX_UNREQUESTED_BYTES, Target

MAX_STALL_MS = 100.0
MAX_RATIO = 2.5
MIN_CPU_S = 0.2  # below it the processor's caches decide a ratio
ATTEMPTS = 3
MEASUREMENTS = 4
TIME_LIMIT_REACHED = 503


def stalls(
    server: ServerUnderAttack,
    target: Target,
    body: bytes,
    first: Outcome,
    *,
    at_once: int = 1,
    max_stall_ms: float = MAX_STALL_MS,
) -> Iterator[str]:
    """Report a stall that comes back in every attempt."""
    least, outcome = float("inf"), first
    for attempt in range(ATTEMPTS):
        if outcome.probe_ms > max_stall_ms:
            least = min(least, outcome.probe_ms - server.control_ms(outcome) - 1000 * outcome.waited_s)
        if min(least, outcome.probe_ms) <= max_stall_ms:
            return
        if attempt < ATTEMPTS - 1:
            outcome = server.send(target, body, at_once=at_once)
    yield f"{at_once} at once stall {least:.0f} ms" if at_once > 1 else f"stalls {least:.0f} ms"


def unrequested(target: Target, outcome: Outcome) -> Iterator[str]:
    """Report an answer that is larger than anything the request asked for."""
    limit = MAX_UNREQUESTED_BYTES if outcome.status >= 400 else target.max_answer_bytes
    if outcome.answer_bytes > limit:
        yield f"answers with {outcome.answer_bytes:,} bytes"


def undecided(outcome: Outcome) -> Iterator[str]:
    """Report a server that broke off or crashed."""
    if outcome.status >= 500 and outcome.status != TIME_LIMIT_REACHED:
        yield f"answers {outcome.status}"


def grows(
    server: ServerUnderAttack, target: Target, case: Case, sizes: tuple[int, int], first: tuple[Outcome, Outcome]
) -> Iterator[str]:
    """Report processor time that grows faster than the input, by the least of several measurements of each size."""
    bodies = [case.make(size) for size in sizes]
    permitted = MAX_RATIO / 2 * len(bodies[1]) / len(bodies[0])
    half_s, whole_s = (outcome.cpu_s for outcome in first)
    ratio = float("inf")
    for attempt in range(MEASUREMENTS):
        ratio = min(ratio, whole_s / max(half_s, 0.001))
        if whole_s < MIN_CPU_S or ratio <= permitted:
            return
        if attempt < MEASUREMENTS - 1:
            half_s, whole_s = (server.send(target, body).cpu_s for body in bodies)
    times = len(bodies[1]) / len(bodies[0])
    yield f"{times:.1f} times the input costs {ratio:.1f} times as much ({whole_s:.2f} s)"
