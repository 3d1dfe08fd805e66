"""Impartiality: a machine agent decides nothing that frees agents of its delegation tree (CONTRACT 11.0).

With the scope `risk:write` an agent's session works on cases and lists like any key. What it may not do is judge
itself, those above or below it, or those with which it has an agent above in common.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import Entity

IsOfOwnTree = Callable[[Execute, Caller, Entity], bool]
"""Returns whether an entity is an agent of the tree of the calling agent, or a session of one."""

ConfirmUser = Callable[[Transaction, UUID, str, datetime], None]
"""Ends the flags on the logins of a tenant's user until that moment."""

OWN_TREE: Final = "own_tree"


class Impartiality:
    """The rule that an agent does not judge its own delegation tree; people and keys may judge any entity."""

    def __init__(self, is_of_own_tree: IsOfOwnTree) -> None:
        self._is_of_own_tree = is_of_own_tree

    def require(self, execute: Execute, entity: Entity, *, caller: Caller, verb: str) -> None:
        """Require that the caller may decide about an entity; `verb` is what they would do.

        Raises:
            PermissionDenied: the caller is an agent, and the entity is of its tree.
        """
        if (refused := self.find_refusal(execute, entity, caller=caller, verb=verb)) is not None:
            raise refused

    def find_refusal(self, execute: Execute, entity: Entity, *, caller: Caller, verb: str) -> PermissionDenied | None:
        """Return the error of a decision that the caller may not make; None if they may."""
        if caller.actor_type != "AGENT" or not self._is_of_own_tree(execute, caller, entity):
            return None
        message = (
            f"An agent cannot {verb} {entity.type.value} {entity.id!r}, which is itself or of its delegation tree. "
            "Ask a person, or an agent of another tree."
        )
        return PermissionDenied(message, details={"reason": OWN_TREE})


def require_no_higher(threshold: float, before: float, *, caller: Caller) -> None:
    """Require that an agent does not raise the escalation threshold, which keeps its own signals from becoming cases.

    Raises:
        PermissionDenied: the caller is an agent, and the threshold is above the one before.
    """
    if caller.actor_type == "AGENT" and threshold > before:
        message = (
            f"An agent cannot raise the escalation threshold from {before:g} to {threshold:g}, because signals about "
            "itself would open no case. Ask a person."
        )
        raise PermissionDenied(message, details={"reason": OWN_TREE})


class EntityJudge:
    """A service that judges entities: it is impartial, and what it finds may end the flags on a user's logins."""

    def __init__(
        self, *, storage: Storage, clock: Clock, confirm_user: ConfirmUser, impartiality: Impartiality
    ) -> None:
        self.storage = storage
        self.clock = clock
        self._confirm_user = confirm_user
        self._impartiality = impartiality
