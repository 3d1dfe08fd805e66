"""An item of `mint_many` by the issuer's name, against one by its id and key, which needs no lookup.

Processor time of client and service together, through each door; that of a single mint by id, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import attestlab
from attestlab.client.lab import Lab
from attestlab.installation import Installation
from attestlab.settings import Settings
from benchmarks import servers
from benchmarks.figures import Figure
from benchmarks.world import CLAIMS

ROUNDS = 9
ITEMS = 300  # three batches
SINGLE_MINTS = 60
ISSUER = "Registrar"

Item = dict[str, Any]  # the arguments of `lab.mint`
Clock = Callable[[], float]  # processor seconds so far, of client and service


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the cost of an item by name and by id, and their ratio, in process and over HTTP."""
    lab, founded = Installation.init(Settings(data=folder / "data"))
    lab.close()
    with attestlab.open(folder / "data") as inside:
        inside.issuers.create(ISSUER, "registrar.example")
        yield from _compare("waits.mint_by_name.in_process", inside, process_time)
    with (
        servers.run_attestlab(folder / "data") as server,
        attestlab.connect(server.url, founded.tenant.api_key) as outside,
    ):
        yield from _compare("waits.mint_by_name.http", outside, lambda: process_time() + server.cpu_s())


def _compare(name: str, lab: Lab, clock: Clock) -> Iterator[Figure]:
    """Measure both kinds of items and the single mint in turn, after a round that warms up."""
    by_name, by_id = ({**each, "schema": "degree", "claims": CLAIMS} for each in _name_issuer(lab))
    rounds = [
        (
            _measure_item_us(lab, by_name, clock),
            _measure_item_us(lab, by_id, clock),
            _measure_mint_us(lab, by_id, clock),
        )
        for _ in range(ROUNDS + 1)
    ][1:]
    ratios = [named / known for named, known, _ in rounds]
    yield Figure.of_rounds(f"{name}_ratio", ratios, "ratio", against="mint_many by id")
    for place, what in enumerate(("item_by_name", "item_by_id", "single_mint_by_id")):
        yield Figure.of_rounds(f"{name}.{what}_cpu_us", [each[place] for each in rounds], "us")


def _name_issuer(lab: Lab) -> tuple[Item, Item]:
    """Return the arguments that name the issuer by its name, and those that need no lookup."""
    issuer = lab.issuers[ISSUER]
    key = issuer.active_key
    return {"issuer": ISSUER}, {"issuer": issuer.id, "kid": key.kid, "alg": key.alg}


def _measure_item_us(lab: Lab, item: Item, clock: Clock) -> float:
    begin = clock()
    results = lab.attestations.mint_many([item] * ITEMS)
    if results.rejected:
        raise RuntimeError(f"{len(results.rejected)} items were rejected: {results.rejected[0].message}")
    return 1e6 * (clock() - begin) / ITEMS


def _measure_mint_us(lab: Lab, item: Item, clock: Clock) -> float:
    begin = clock()
    for _ in range(SINGLE_MINTS):
        lab.mint(**item)
    return 1e6 * (clock() - begin) / SINGLE_MINTS
