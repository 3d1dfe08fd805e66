"""The names that `dir` lists for people: fields, nouns and verbs, without what only this package uses."""

from __future__ import annotations

_OURS = "attestlab.client."


def list_public_names(kind: type, *, hidden: frozenset[str] = frozenset()) -> set[str]:
    """List the public names that a class and its bases in the facade define."""
    kinds = [each for each in kind.__mro__ if each.__module__.startswith(_OURS)]
    return {name for each in kinds for name in vars(each) if not name.startswith("_")} - hidden
