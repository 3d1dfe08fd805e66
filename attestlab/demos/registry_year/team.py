"""The people of the demo as callers of its services, by their first names."""

from __future__ import annotations

from collections.abc import Mapping

from attestlab.core.ids import new_id
from attestlab.demos.people import PEOPLE
from attestlab.identity import store
from attestlab.identity.sessions import caller_of
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

Team = Mapping[str, Caller]


def gather_team(lab: Installation) -> Team:
    """Return a caller for each of the demo's people, who must exist."""
    with lab.storage.read() as connection:
        found = [store.find_person_by_address(connection, address) for address, *_ in PEOPLE]
    people = [person for person in found if person is not None]
    return {person.name.split()[0].lower(): caller_of(person, new_id(lab.clock.now())) for person in people}
