"""`http.*`: verify and mint over real HTTP, against the floor in the same run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import servers, world
from benchmarks.figures import Figure
from benchmarks.load import Load, Plan, request, run
from benchmarks.servers import Server

ROUNDS = 7
SECONDS = 2.0
WARMUP_S = 0.5
FLOOR = "benchmarks/floor.py"
CONNECTIONS = 64  # of the figures whose names state no other number


@dataclass(frozen=True)
class Side:
    """One of the two that are compared: its server and what is sent to it."""

    server: Server
    mints: list[str]
    verifies: list[str]


@dataclass(frozen=True)
class Round:
    """One measurement of one side, with the processor time that the server used for a request."""

    load: Load
    cpu_us: float


def figures(folder: Path) -> Iterator[Figure]:
    """Every figure over HTTP; `folder` is where the servers may write."""
    with ExitStack() as stack:
        ours, floor = _sides(stack, folder)
        for connections in (64, 8, 1):
            verify = _in_turn(ours, floor, "verifies", connections, 200)
            yield from _ratio("http.verify", connections, *verify)
            yield from _latency("http.verify", connections, *verify, shares=("p50",))
        for connections, shares in ((64, ("p50", "p99")), (8, ("p50",))):
            mint = _in_turn(ours, floor, "mints", connections, 201)
            yield from _ratio("http.mint", connections, *mint)
            yield from _latency("http.mint", connections, *mint, shares=shares)


def _sides(stack: ExitStack, folder: Path) -> tuple[Side, Side]:
    (folder / "floor").mkdir()
    bare = stack.enter_context(servers.floor(folder / "floor"))
    ours = stack.enter_context(world.served(folder / "data"))
    verifies = [{"attestation_id": ours.mint()["id"], "document_hash_hex": world.DOCUMENT_HASH} for _ in range(64)]
    return (
        Side(ours.server, [ours.mint_request()], [request("POST", "/v1/verify", body) for body in verifies]),
        Side(bare, [ours.mint_request("/mint")], [request("POST", "/verify", body) for body in verifies]),
    )


def _in_turn(ours: Side, floor: Side, what: str, connections: int, status: int) -> tuple[list[Round], list[Round]]:
    """The two sides one after the other, several rounds."""
    rounds: tuple[list[Round], list[Round]] = ([], [])
    for _ in range(ROUNDS):
        for side, taken in zip((ours, floor), rounds, strict=True):
            taken.append(_round(side.server, getattr(side, what), connections, status))
    return rounds


def _round(server: Server, requests: list[str], connections: int, status: int) -> Round:
    before = server.cpu_s()
    load = run(Plan(server.port, connections, SECONDS, WARMUP_S, status, requests))
    return Round(load, 1e6 * (server.cpu_s() - before) / load.answered)


def _ratio(name: str, connections: int, ours: list[Round], floor: list[Round]) -> Iterator[Figure]:
    """Our throughput as a share of the floor's, round by round, and what both sides are made of."""
    suffix = "" if connections == CONNECTIONS else f"_{connections}"
    shares = [a.load.per_second / b.load.per_second for a, b in zip(ours, floor, strict=True)]
    yield Figure.of_rounds(f"{name}_ratio{suffix}", shares, "ratio", against=FLOOR)
    for side_name, side in (("", ours), ("_floor", floor)):
        yield Figure.of_rounds(f"{name}{side_name}_per_s{suffix}", [one.load.per_second for one in side], "1/s")
        yield Figure.of_rounds(f"{name}{side_name}_cpu_us{suffix}", [one.cpu_us for one in side], "us")


def _latency(
    name: str, connections: int, ours: list[Round], floor: list[Round], *, shares: tuple[str, ...]
) -> Iterator[Figure]:
    """The latencies of both sides, and how many times the floor's ours is, round by round."""
    for share in shares:
        taken, least = ([getattr(one.load, f"{share}_ms") for one in side] for side in (ours, floor))
        times = [a / b for a, b in zip(taken, least, strict=True)]
        yield Figure.of_rounds(f"{name}_{share}_ratio_{connections}", times, "ratio", against=FLOOR)
        yield Figure.of_rounds(f"{name}_{share}_ms_{connections}", taken, "ms")
        yield Figure.of_rounds(f"{name}_floor_{share}_ms_{connections}", least, "ms")
