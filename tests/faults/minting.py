"""A run of mints in one process, one after another, each acknowledged by a line on stdout once it is durable.

Whatever happens to the process, and to its disk, what it acknowledged must be there afterwards.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy import URL, Engine, event

from attestlab.attestations.drafting import MintRequest
from attestlab.core import storage
from attestlab.core.signing import Algorithm
from attestlab.lab import Lab
from attestlab.settings import Settings

WHO = "who.json"


@dataclass(frozen=True)
class Acknowledged:
    """What a client was told: the attestation, its place in the log, and the checkpoint over it."""

    id: str
    index: int
    note: str

    @classmethod
    def read(cls, text: str) -> list[Acknowledged]:
        """The whole lines of a run's output."""
        return [cls(**json.loads(line)) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def prepared(folder: Path) -> Path:
    """A fresh installation with an issuer, ready for runs."""
    lab, made = Lab.init(Settings(data=folder))
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuer = lab.issuers.create({"name": "Northfield", "domain": "northfield.example"}, caller=caller, alg=Algorithm.ED25519)
    who = {"tenant": str(caller.tenant_id), "issuer": str(issuer.issuer["id"]), "kid": issuer.keys[0]["kid"]}
    (folder / WHO).write_text(json.dumps(who))
    lab.close()
    return folder


def mints(folder: Path, lab: Lab, count: int) -> Iterator[Acknowledged]:
    """Mint `count` times; what is yielded is durable."""
    who = json.loads((folder / WHO).read_text())
    caller = lab.orgs.service_caller(UUID(who["tenant"]))
    for number in range(count):
        request = MintRequest(
            issuer_id=UUID(who["issuer"]), kid=who["kid"], schema="degree", claims={"student_name": f"Student {number}"}
        )
        minted = lab.attestations.mint(request, caller=caller)
        yield Acknowledged(str(minted.id), minted.logged.index, minted.logged.checkpoint)


def weaken(pragma: str) -> None:
    """Let every connection of this process run with `pragma` on top: for tests that must see the promise broken."""
    promised = storage._sqlite_engine

    def weakened(url: URL) -> Engine:
        engine = promised(url)
        event.listen(engine, "connect", lambda connection, _record: connection.execute(f"PRAGMA {pragma}"))
        return engine

    storage._sqlite_engine = weakened


def main(arguments: Sequence[str]) -> None:
    """FOLDER COUNT [PRAGMA]."""
    folder, count, *pragmas = arguments
    for pragma in pragmas:
        weaken(pragma)
    lab = Lab.open(Settings(data=Path(folder)))
    for told in mints(Path(folder), lab, int(count)):
        os.write(1, json.dumps(vars(told)).encode() + b"\n")
    lab.close()
