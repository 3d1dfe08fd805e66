"""Reads the login data set of Wiefling et al. (TOPS 2022), for people who have the file; no package ships it.

It is a CSV file of 33 million logins, synthesised by its authors from a service in Norway. It has no device ids, and
its addresses are artificial, so the network is its column ASN. Attack addresses count as stuffing, with the network
as campaign; takeovers are the few logins that its column says.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from attestlab.core.countries import ALPHA_2
from attestlab.demos.risk_world.records import Kind, LabelledLogin
from attestlab.risk.logins.login import MAX_VALUE_CHARS, Login, LoginOutcome
from attestlab.risk.logins.places import IpLocation


class LoginFile:
    """The logins of the file in its order, which is that of time; as a locator, it knows the place of the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = IpLocation("", None)

    def locate(self, ip: str) -> IpLocation:
        """Return network and country of the row that was read last; a detector asks for no other."""
        return self._place

    def logins(self) -> Iterator[LabelledLogin]:
        """Yield each row; only one is in memory."""
        with self._path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                country = row["Country"] if row["Country"] in ALPHA_2 else None
                self._place = IpLocation(f"AS{row['ASN']}", country)
                yield LabelledLogin(_read_login(row, country), *_read_truth(row))


def _read_login(row: dict[str, str], country: str | None) -> Login:
    return Login(
        subject_id=row["User ID"],
        outcome=LoginOutcome.SUCCESS if row["Login Successful"] == "True" else LoginOutcome.FAILURE,
        occurred_at=datetime.fromisoformat(row["Login Timestamp"]).replace(tzinfo=UTC),
        ip=row["IP Address"],
        country=country,
        user_agent=row["User Agent String"][:MAX_VALUE_CHARS] or None,
    )


def _read_truth(row: dict[str, str]) -> tuple[Kind, str | None]:
    if row["Is Account Takeover"] == "True":
        return Kind.TAKEOVER, f"takeover-{row['User ID']}"
    if row["Is Attack IP"] == "True":
        return Kind.STUFFING, f"AS{row['ASN']}"
    return Kind.ORDINARY, None
