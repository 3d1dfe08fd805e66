"""Lookups of one call: what several of its items name is looked up once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from attestlab.core.errors import AttestLabError, Conflict, NotFound, PermissionDenied, ValidationFailed

Result = TypeVar("Result")
_FINAL = (Conflict, NotFound, PermissionDenied, ValidationFailed)  # the next item would get the same


class Lookups:
    """What a call with many items has looked up, by name; items with one name get one result, or one error.

    It ends with its call, so the next call sees what has changed since.
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, object] = {}

    def find(self, name: Hashable, look_up: Callable[[], Result]) -> Result:
        """Return what `look_up` returned for this name, or call it.

        Raises:
            AttestLabError: what `look_up` raised for this name.
        """
        if name not in self._results:
            try:
                self._results[name] = look_up()
            except _FINAL as error:
                self._results[name] = error
        found = self._results[name]
        if isinstance(found, AttestLabError):
            raise found.with_traceback(None)  # each raise would lengthen it
        return cast(Result, found)
