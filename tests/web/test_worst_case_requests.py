"""Requests that once stalled the whole server for seconds, or got responses of megabytes, no longer do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.servers import start_server
from benchmarks.stall import rules
from benchmarks.stall.once_worst import OnceWorst, judge, list_once_worst, measure_pace_s
from benchmarks.stall.server_under_attack import ServerUnderAttack, watch_server
from benchmarks.stall.shapes import Case
from benchmarks.stall.targets import MAX_UNREQUESTED_BYTES, Target
from benchmarks.stall.world import AttackedInstallation, serve_attacked_installation

STALLING_SERVER = Path(__file__).with_name("stalling_server.py")
SIZES = (64_000, 128_000)
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedInstallation]:
    """A real server with attestations, large policies and every kind of caller."""
    with serve_attacked_installation(Path(tmp_path_factory.mktemp("stall")) / "data") as served:
        yield served


@pytest.fixture(scope="module")
def server(world: AttackedInstallation) -> Iterator[ServerUnderAttack]:
    """The same server, with a probe that requests /healthz."""
    with watch_server(world.server) as watched:
        yield watched


def test_no_known_worst_case_request_stalls_the_server(world: AttackedInstallation, server: ServerUnderAttack) -> None:
    pace = measure_pace_s()

    def broken_rules(each: OnceWorst) -> list[str]:
        return [f"{each.target.name}, {each.case.name}: {defect}" for defect in judge(server, each, pace=pace).defects]

    assert [line for each in list_once_worst(world) for line in broken_rules(each)] == []


def test_the_stall_rules_detect_cubic_work_on_the_event_loop() -> None:
    target = Target("POST /", "POST", "/", {}, (), MAX_UNREQUESTED_BYTES)
    case = Case("zeros", lambda size: b"0" * size)

    with start_server([sys.executable, str(STALLING_SERVER)]) as stalling, watch_server(stalling) as watched:
        half, whole = (watched.send(target, case.make(size)) for size in SIZES)
        stalls = list(rules.find_stall(watched, target, case.make(SIZES[1]), whole))
        grows = list(rules.find_superlinear_growth(watched, target, case, SIZES, (half, whole)))

    assert stalls, f"an answer took {whole.wall_s:.2f} s of the event loop"
    assert grows, f"{half.cpu_s:.2f} s, then {whole.cpu_s:.2f} s"
    assert list(rules.find_oversized_response(target, whole)) == ["answers with 100,000 bytes"]
