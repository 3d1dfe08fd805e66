"""What an answer depends on besides the question: people with equal rights get equal answers."""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from attestlab import Lab

RIGHTS_AGE_S: Final = 1.0  # the panes of one click read them once


class Rights(NamedTuple):
    """The tenant of a person, and what they may do there."""

    tenant_id: str
    roles: frozenset[str]
    scopes: frozenset[str]

    @classmethod
    def read(cls, lab: Lab) -> Self:
        """Read the rights that a lab's caller has now.

        Raises:
            AuthInvalid: the session of the caller has ended.
        """
        me = lab.me()
        return cls(str(me.tenant_id), frozenset(me.roles), frozenset(me.credential.scopes))
