"""`AccessState`: what the page about access shows, all of it in its address."""

from __future__ import annotations

from typing import Final, NamedTuple

import param

from attestlab.orgs.rules import Role
from attestlab_dashboards.parameters import (
    Value,
    choice,
    matching,
    normalizing,
    object_id,
    page_number,
    read_uuid,
    sort_order,
)
from attestlab_dashboards.ranges import read_range
from attestlab_dashboards.state import PageState

SORTS: Final = ("name", "role", "status", "sessions", "last")
KEY_SORTS: Final = ("name", "status", "scopes", "last", "created")
USES: Final = ("recent", "idle", "never")
FILTERS: Final = ("role", "state", "use")
ASKS: Final = ("revoke", "lose", "end")


class Holder(NamedTuple):
    """A person or an API key, whose trail the drawer shows: `person:` or `key:` and the id."""

    kind: str
    id: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def parse(cls, text: str) -> Holder:
        """Read a holder such as `key:0193b5a0-7f3c-7abc-8def-0123456789ab`.

        Raises:
            ValueError: it is none.
        """
        kind, _, holder_id = text.partition(":")
        if kind not in ("person", "key"):
            raise ValueError(f"{kind!r} is neither person nor key.")
        return cls(kind, read_uuid(holder_id))


class AccessState(PageState):
    """What the page about access shows."""

    filters = FILTERS
    together = ("ask", "about")

    role = choice("", *map(str, Role), doc="The role of the people that are listed; empty for all.")
    state = choice("", "active", "invited", "ended", doc="Whether these people and keys have access; empty for all.")
    use = choice("", *USES, doc="When they last used it: in 7 days, not for 90 days, or never; empty for all.")
    sort = sort_order("-last", SORTS, doc="The column that sorts people")
    page = page_number(doc="The page of the people.")
    keys_sort = sort_order("-last", KEY_SORTS, doc="The column that sorts the keys")
    keys_page = page_number(doc="The page of the keys.")
    sessions_page = page_number(doc="The page of the sessions.")
    trail_page = page_number(doc="The page of what all did.")
    range = Value("", read=read_range, doc="The days of what all did, from/to; empty for all.")
    whole = param.Boolean(default=False, doc="Whether renewals of sessions and sent mails are listed, too.")
    who = Value("", read=normalizing(Holder.parse), doc="The person or key of the open drawer, person:id or key:id.")
    deed = Value("", read=matching(r"[a-z_]{1,40}\.[a-z_]{1,40}"), doc="The action that the drawer lists alone.")
    acts_page = page_number(doc="The page of what the person or key of the drawer did.")
    ask = choice("", *ASKS, doc="The question of the open dialog.")
    about = object_id(doc="The key or session that the open dialog is about.")

    def find_conflicts(self) -> list[str]:
        """Find a question that is about nothing, a thing without a question, and an action of no drawer."""
        deeds = () if self.who else self.list_changed(("deed", "acts_page"))
        return [*super().find_conflicts(), *deeds]

    @property
    def holder(self) -> Holder | None:
        """The person or key of the open drawer."""
        return Holder.parse(self.who) if self.who else None
