"""The posts of the registry's blog, as files: two that are public, one that was archived, and a draft."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.resources import as_file, files

from attestlab.blog.post_import import import_post
from attestlab.core.db.transaction import Transaction
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller


class PastPosts:
    """What the registry wrote in its year, with `attestlab blog import`."""

    def __init__(self, lab: Installation, caller: Caller) -> None:
        self._lab = lab
        self._caller = caller

    def list_actions(self) -> Iterator[ScheduledAction]:
        """List the actions of the year."""
        yield ScheduledAction(301.4, partial(self._write, "badges-as-svg.md"))
        yield ScheduledAction(203.6, partial(self._write, "why-a-log.md"))
        yield ScheduledAction(92.1, self._archive)
        yield ScheduledAction(51.7, partial(self._write, "when-a-key-leaves.md"))
        yield ScheduledAction(4.5, partial(self._write, "year-in-numbers.md", publish=False))

    def _write(self, name: str, tx: Transaction, *, publish: bool = True) -> None:
        with as_file(files("attestlab.demos").joinpath("posts")) as folder:
            import_post(self._lab.blog, folder / name, publish=publish, caller=self._caller, tx=tx)

    def _archive(self, tx: Transaction) -> None:
        """Archive the post whose pictures have changed since."""
        row = self._lab.blog.find("badges-as-svg", tx=tx)
        self._lab.blog.archive(row.id, caller=self._caller, tx=tx)
