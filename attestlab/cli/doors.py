"""The door of a command that uses a lab: an installation of this machine, or a service over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli.output import UNUSABLE, fail

if TYPE_CHECKING:
    from attestlab.client.lab import Lab

DATA_VARIABLE = "ATTESTLAB_DATA"

Folder = Annotated[
    Path | None, typer.Option("--data", envvar=DATA_VARIABLE, help="Folder of an installation.", show_default=False)
]
UrlOption = Annotated[str | None, typer.Option("--url", help="Address of a service, instead of --data.")]
ApiKey = Annotated[
    str | None,
    typer.Option("--api-key", envvar="ATTESTLAB_API_KEY", help="API key for --url; the variable keeps it out of `ps`."),
]
Tenant = Annotated[
    str | None, typer.Option("--tenant", help="Id or name of the tenant; default: the operator's, or the API key's.")
]


@dataclass(frozen=True)
class LabDoor:
    """Where a command finds its lab, and the tenant that it acts for."""

    data: Path | None
    url: str | None
    api_key: str | None = field(repr=False)
    database_url: str | None = field(repr=False)
    tenant: str | None

    @property
    def is_given(self) -> bool:
        """Whether the command line or the environment names a lab."""
        return self.data is not None or self.url is not None

    @contextmanager
    def open(self) -> Iterator[Lab]:
        """Open the lab for a command, and close it at the end of the block.

        Raises:
            AttestLabError: there is no such installation, service or tenant.
        """
        with self._connect() as lab:
            yield lab if self.tenant is None else lab.as_(self.tenant)

    def _connect(self) -> Lab:
        import attestlab

        if self.url is not None:
            if self.data is not None and str(self.data) != os.environ.get(DATA_VARIABLE):
                fail("--url and --data name two labs. Give one of them.", UNUSABLE)
            return attestlab.connect(self.url, self.api_key)
        if self.data is None:
            fail("Which lab? Give --data FOLDER, or --url URL with --api-key KEY.", UNUSABLE)
        if self.database_url is not None:
            return attestlab.open(self.database_url, data=self.data)
        return attestlab.open(self.data)
