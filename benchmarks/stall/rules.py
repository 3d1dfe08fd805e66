"""The four rules for a response. If a response breaks a rule, the rule measures again before it reports a defect.

- No stall. `/healthz` must not respond more than 100 ms later than in a control, in each of three attempts. The
  control is the longest wait for `/healthz` right after an attempt, without an attack and for as long as the attempt
  took, plus the time in which the server's threads were ready to run but had no processor. So a machine that is busy
  with other work may hide a stall, but cannot cause a false report.
- No response over 64 kB that the client did not request. A client requests one object by its id, or a number of rows
  of a list (`limit`; 50 by contract if the request has none) of at most 2 kB each. No client requests an error.
- No superlinear growth. Twice the input may cost at most 2.5 times as much, in processor time of the server and its
  children, which a busy machine changes little. The rule measures the two sizes in turn, up to four times, and takes
  the smallest ratio. Below 0.2 s the rule does not apply, because the processor's caches determine the ratio there.
- No server error: no response is a 5xx, except 503 for a time limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.stall.server_under_attack import Outcome, ServerUnderAttack
from benchmarks.stall.shapes import Case
from benchmarks.stall.targets import MAX_UNREQUESTED_BYTES, Target

MAX_STALL_MS = 100.0
MAX_RATIO = 2.5
MIN_CPU_S = 0.2  # below it the processor's caches determine the ratio
ATTEMPTS = 3
MEASUREMENTS = 4
TIME_LIMIT_REACHED = 503


def find_stall(
    server: ServerUnderAttack,
    target: Target,
    body: bytes,
    first: Outcome,
    *,
    at_once: int = 1,
    max_stall_ms: float = MAX_STALL_MS,
) -> Iterator[str]:
    """Report a stall that occurs in every attempt."""
    least, outcome = float("inf"), first
    for attempt in range(ATTEMPTS):
        if outcome.probe_ms > max_stall_ms:
            least = min(least, outcome.probe_ms - server.measure_control_ms(outcome) - 1000 * outcome.waiting_s)
        if min(least, outcome.probe_ms) <= max_stall_ms:
            return
        if attempt < ATTEMPTS - 1:
            outcome = server.send(target, body, at_once=at_once)
    yield f"{at_once} at once stall {least:.0f} ms" if at_once > 1 else f"stalls {least:.0f} ms"


def find_oversized_response(target: Target, outcome: Outcome) -> Iterator[str]:
    """Report a response that is larger than the request allows."""
    limit = MAX_UNREQUESTED_BYTES if outcome.status >= 400 else target.max_answer_bytes
    if outcome.answer_bytes > limit:
        yield f"answers with {outcome.answer_bytes:,} bytes"


def find_server_error(outcome: Outcome) -> Iterator[str]:
    """Report a server that failed, or closed the connection without a response."""
    if outcome.status >= 500 and outcome.status != TIME_LIMIT_REACHED:
        yield f"answers {outcome.status}"


def find_superlinear_growth(
    server: ServerUnderAttack, target: Target, case: Case, sizes: tuple[int, int], first: tuple[Outcome, Outcome]
) -> Iterator[str]:
    """Report processor time that grows faster than the input, by the smallest ratio of several measurements."""
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
