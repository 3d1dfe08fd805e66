"""A run of mints in one process, one after another, each acknowledged by a line on stdout once it is durable.

Whatever happens to the process, and to its disk, what it acknowledged must be there afterwards.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import URL, Engine, event, select

from attestlab.attestations.minting import MintRequest
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db import sqlite
from attestlab.installation import Installation
from attestlab.orgs.store import tenants
from attestlab.settings import Settings

ALGORITHM = Algorithm.ED25519


@dataclass(frozen=True)
class AcknowledgedMint:
    """The acknowledgement of a mint: the attestation, its place in the log, and the checkpoint over it."""

    id: str
    index: int
    note: str

    @classmethod
    def read(cls, text: str) -> list[AcknowledgedMint]:
        """The whole lines of a run's output."""
        return [cls(**json.loads(line)) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def create_installation(folder: Path) -> dict[str, str]:
    """Make an installation, or finish an unfinished one; what its owner learns once."""
    lab, made = Installation.init(Settings(data=folder))
    lab.close()
    return made.public()


def mint_repeatedly(lab: Installation, count: int) -> Iterator[AcknowledgedMint]:
    """Register an issuer and mint `count` times; what is yielded is durable."""
    caller = lab.orgs.service_caller(_operator(lab))
    made = lab.issuers.create({"name": "Northfield", "domain": "northfield.example"}, caller=caller, alg=ALGORITHM)
    for number in range(count):
        request = MintRequest(
            issuer_id=made.issuer.id,
            kid=made.keys[0].kid,
            schema="degree",
            claims={"student_name": f"Student {number}"},
        )
        minted = lab.attestations.mint(request, caller=caller)
        yield AcknowledgedMint(str(minted.id), minted.logged.index, minted.logged.checkpoint)


def _operator(lab: Installation) -> UUID:
    with lab.storage.read() as connection:
        found: UUID = connection.scalars(select(tenants.c.id).where(tenants.c.is_operator)).one()
    return found


def weaken_durability(pragma: str) -> None:
    """Let every connection of this process run with `pragma` on top: for tests that must see the promise broken."""
    promised = sqlite.engine_of

    def weakened(url: URL) -> Engine:
        engine = promised(url)
        event.listen(engine, "connect", lambda connection, _record: connection.execute(f"PRAGMA {pragma}"))
        return engine

    sqlite.engine_of = weakened


def init(folder: str) -> None:
    """Make an installation and tell its owner."""
    print_line(create_installation(Path(folder)))


def mint(folder: str, count: str, *pragmas: str) -> None:
    """Open an installation and mint."""
    for pragma in pragmas:
        weaken_durability(pragma)
    lab = Installation.open(Settings(data=Path(folder)))
    for acknowledged in mint_repeatedly(lab, int(count)):
        print_line(vars(acknowledged))
    lab.close()


def print_line(what: dict[str, Any]) -> None:
    """One line on stdout, in one write."""
    os.write(1, json.dumps(what).encode() + b"\n")
