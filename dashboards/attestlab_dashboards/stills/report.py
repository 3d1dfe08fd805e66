"""Draws the stills of one report: a short process, which a server starts with a limit of time and of memory.

It reads one line of JSON from standard input, writes one line to standard output, and ends. Readers with equal rights
share a drawing. A reader whose account has ended gets none.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Final, Self

from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab.web import logging_setup
from attestlab_dashboards.facts import read_facts
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.stills.drawing import draw_still
from attestlab_dashboards.stills.file import write_still
from attestlab_dashboards.stills.readers import ReaderDoor, ReaderLab

_NICENESS: Final = 10  # a report can wait, a request cannot


@dataclass(frozen=True, kw_only=True)
class ReportOrder:
    """What to draw: a page with its query, for the readers whose tokens are by the ids of the people.

    `timeout_s` and `memory_bytes` bound the process, whatever the page does.
    """

    api_socket: str
    public_url: str
    stage: str
    page: str
    query: str
    timeout_s: int
    memory_bytes: int
    tokens: Mapping[str, str] = field(repr=False)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read the line that `to_json` wrote."""
        return cls(**json.loads(line))

    def to_json(self) -> str:
        """Write the order as one line."""
        return json.dumps(asdict(self))


def draw_report(order: ReportOrder) -> list[dict[str, object]]:
    """Draw the report for each group of readers with equal rights: `{readers, sentences, html}`.

    Raises:
        AttestLabError: the service is out of reach, or there is no such page.
    """
    with ExitStack() as doors:
        return [_draw_group(order, people, lab, facts) for people, lab, facts in _group(list(_open(order, doors)))]


def _open(order: ReportOrder, doors: ExitStack) -> Iterator[tuple[str, ReaderLab, Facts]]:
    """Open the lab of each reader whose account has not ended."""
    for person, token in order.tokens.items():
        door = ReaderDoor(order.api_socket, token, public_url=order.public_url)
        doors.callback(door.close)
        lab = door.lab()
        try:
            facts = read_facts(lab, order.stage)
        except AuthInvalid:
            continue
        yield person, lab, facts


def _group(readers: Sequence[tuple[str, ReaderLab, Facts]]) -> list[tuple[list[str], ReaderLab, Facts]]:
    """Group readers by their rights; the lab of the first of each group draws."""
    groups: dict[object, tuple[list[str], ReaderLab, Facts]] = {}
    for person, lab, facts in readers:
        rights = (facts.tenant_id, facts.roles, facts.scopes)
        groups.setdefault(rights, ([], lab, facts))[0].append(person)
    return list(groups.values())


def _draw_group(order: ReportOrder, people: list[str], lab: ReaderLab, facts: Facts) -> dict[str, object]:
    still = draw_still(lab, order.page, order.query, facts=facts, url=order.public_url)
    return {"readers": people, "sentences": list(still.sentences), "html": write_still(still)}


def run() -> None:
    """Read an order, draw it, and write what was drawn, or why it could not be."""
    logging_setup.capture_library_logs()
    order = ReportOrder.from_json(sys.stdin.readline())
    signal.alarm(order.timeout_s)  # ends the process, also when the server is gone
    resource.setrlimit(resource.RLIMIT_DATA, (order.memory_bytes, order.memory_bytes))
    os.nice(_NICENESS)
    try:
        answer: dict[str, object] = {"drawn": draw_report(order)}
    except AttestLabError as error:
        answer = {"error": error.message}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    run()
