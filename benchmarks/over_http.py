"""`http.*`: verify and mint over real HTTP, against the floor in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import servers, world
from benchmarks.figures import Figure
from benchmarks.load import Load, Plan, format_request, run_load
from benchmarks.servers import Server

ROUNDS = 7
SECONDS = 2.0
WARMUP_S = 0.5
FLOOR = "benchmarks/floor.py"
CONNECTIONS = 64  # of figures whose names contain no other number


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a server and the requests for it."""

    server: Server
    mints: list[str]
    verifies: list[str]


@dataclass(frozen=True)
class Round:
    """One measurement of one side, with the server's processor time per request."""

    load: Load
    cpu_us: float


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures over HTTP; the servers write to `folder`."""
    with ExitStack() as stack:
        ours, floor = start_sides(stack, folder)
        for connections in (64, 8, 1):
            verify = measure_in_turn(ours, floor, "verifies", connections, 200)
            yield from ratio_figures("http.verify", connections, *verify)
            yield from latency_figures("http.verify", connections, *verify, shares=("p50",))
        for connections, shares in ((64, ("p50", "p99")), (8, ("p50",))):
            mint = measure_in_turn(ours, floor, "mints", connections, 201)
            yield from ratio_figures("http.mint", connections, *mint)
            yield from latency_figures("http.mint", connections, *mint, shares=shares)


def start_sides(stack: ExitStack, folder: Path) -> tuple[Side, Side]:
    """Start our server and the floor, with the requests for both."""
    (folder / "floor").mkdir()
    bare = stack.enter_context(servers.run_floor(folder / "floor"))
    ours = stack.enter_context(world.serve_installation(folder / "data"))
    verifies = [{"attestation_id": ours.mint()["id"], "document_hash_hex": world.DOCUMENT_HASH} for _ in range(64)]
    return (
        Side(
            ours.server, [ours.build_mint_request()], [format_request("POST", "/v1/verify", body) for body in verifies]
        ),
        Side(bare, [ours.build_mint_request("/mint")], [format_request("POST", "/verify", body) for body in verifies]),
    )


def measure_in_turn(
    ours: Side, floor: Side, what: str, connections: int, status: int
) -> tuple[list[Round], list[Round]]:
    """Measure the two sides in turn, for several rounds."""
    rounds: tuple[list[Round], list[Round]] = ([], [])
    for _ in range(ROUNDS):
        for side, collected in zip((ours, floor), rounds, strict=True):
            collected.append(_measure_round(side.server, getattr(side, what), connections, status))
    return rounds


def _measure_round(server: Server, requests: list[str], connections: int, status: int) -> Round:
    before = server.cpu_s()
    load = run_load(Plan(server.port, connections, SECONDS, WARMUP_S, status, requests))
    return Round(load, 1e6 * (server.cpu_s() - before) / load.responses)


def ratio_figures(name: str, connections: int, ours: list[Round], floor: list[Round]) -> Iterator[Figure]:
    """Yield our throughput as a share of the floor's, round by round, and the values of both sides."""
    suffix = "" if connections == CONNECTIONS else f"_{connections}"
    shares = [a.load.per_second / b.load.per_second for a, b in zip(ours, floor, strict=True)]
    yield Figure.of_rounds(f"{name}_ratio{suffix}", shares, "ratio", against=FLOOR)
    for side_name, side in (("", ours), ("_floor", floor)):
        yield Figure.of_rounds(f"{name}{side_name}_per_s{suffix}", [one.load.per_second for one in side], "1/s")
        yield Figure.of_rounds(f"{name}{side_name}_cpu_us{suffix}", [one.cpu_us for one in side], "us")


def latency_figures(
    name: str, connections: int, ours: list[Round], floor: list[Round], *, shares: tuple[str, ...]
) -> Iterator[Figure]:
    """Yield the latencies of both sides and their ratio, round by round."""
    for share in shares:
        ours_ms, floor_ms = ([getattr(one.load, f"{share}_ms") for one in side] for side in (ours, floor))
        times = [a / b for a, b in zip(ours_ms, floor_ms, strict=True)]
        yield Figure.of_rounds(f"{name}_{share}_ratio_{connections}", times, "ratio", against=FLOOR)
        yield Figure.of_rounds(f"{name}_{share}_ms_{connections}", ours_ms, "ms")
        yield Figure.of_rounds(f"{name}_floor_{share}_ms_{connections}", floor_ms, "ms")
