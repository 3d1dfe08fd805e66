"""The worst NDJSON of risk signals: the most lines, links, cases and faults, and lines for the slow parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.stall.shapes import Case, dump_json

HUB = "hub"  # a user that many signals link to other entities
HUB_LINKS = 3_000
MAX_LINE_BYTES = 16_000
MAX_COMPARISONS, LEAVES_A_RULE = 500, 10


def cases() -> Iterator[Case]:
    """Yield all kinds of bad texts."""
    for name, line in _LINES.items():
        yield Case(f"lines: {name}", partial(_repeat, line))
    yield Case("one long line", lambda size: signal(0, details={"a": "b" * size}))


def simulation_cases() -> Iterator[Case]:
    """Yield rules over signals that are valid, up to the limits of a simulation."""
    yield Case("many rules over windows", _many_rules)


def _many_rules(size: int) -> bytes:
    leaf = {"attr": "entity.signals_7d", "op": "gte"}
    leaves = [{**leaf, "value": number} for number in range(min(MAX_COMPARISONS, max(1, size // 60)))]
    parts = [leaves[at : at + LEAVES_A_RULE] for at in range(0, len(leaves), LEAVES_A_RULE)]
    return dump_json({"rules": [{"id": f"r{number}", "when": {"all": part}} for number, part in enumerate(parts)]})


def signal(number: int, *, score: float = 1, **more: Any) -> bytes:
    """Return the line of a signal about a new user."""
    named = {"source": "stall", "signal_type": "behavior", "entity_type": "user", "entity_id": f"user-{number}"}
    return dump_json({**named, "score": score, **more})


def link_to_hub(number: int) -> bytes:
    """Return a signal that links the hub to a new device and a new address."""
    return signal(number, entity_id=HUB, details={"device_id": f"device-{number}", "ip": f"address-{number}"})


def _repeat(line: Callable[[int], bytes], size: int) -> bytes:
    lines, length, number = [], 0, 0
    while length < size:
        lines.append(line(number))
        length, number = length + len(lines[-1]) + 1, number + 1
    return b"\n".join(lines)


def _six_entities(number: int) -> bytes:
    names = ("user_id", "device_id", "ip", "document_id", "session_id")
    return signal(number, details={name: f"{name}-{number}" for name in names})


def _for_the_strict_parser(number: int) -> bytes:
    return signal(number, details={f"a{index}": '":' for index in range(1_000)})


def _deep(_number: int) -> bytes:
    nest: Any = 1
    for _ in range(60):
        nest = [nest]
    return signal(0, details={f"a{index}": nest for index in range(100)})


def _wide(_number: int) -> bytes:
    members = {f"m{index:05}": 0 for index in range(MAX_LINE_BYTES // 12)}
    return dump_json(members)


_LINES: dict[str, Callable[[int], bytes]] = {
    "short": signal,
    "six entities": _six_entities,
    "one hub": link_to_hub,
    "escalated": partial(signal, score=100),
    "for the strict parser": _for_the_strict_parser,
    "deep": _deep,
    "unknown members": _wide,
    "wrong": lambda number: b"{}",
    "empty": lambda number: b"",
}
