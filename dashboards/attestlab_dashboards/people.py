"""Names of the tenant's people, as panes show who did something."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from attestlab import Lab
from attestlab.client.collections.people import PersonHandle
from attestlab.core.errors import PermissionDenied


def read_people(lab: Lab) -> Mapping[str, str]:
    """Read the names of the tenant's people by their ids; empty if the viewer may not."""
    return {str(person.id): person.name for person in list_people(lab)}


def list_people(lab: Lab) -> Sequence[PersonHandle]:
    """List the tenant's people without removed ones; none if the viewer may not."""
    try:
        return [person for person in lab.people if person.status != "REMOVED"]
    except PermissionDenied:
        return []


def read_key_names(lab: Lab) -> Mapping[str, str]:
    """Read the names of the tenant's API keys by their ids; empty if the viewer may not."""
    try:
        return {str(key.id): key.name for key in lab.api_keys}
    except PermissionDenied:
        return {}


def name_writer(writer: str, people: Mapping[str, str], own_ids: Collection[str]) -> str:
    """Name who wrote something: `You`, a person, or a program, which is an API key or an agent.

    `own_ids` are those of the viewer and of the key that they use.

    >>> name_writer("u-1", {"u-1": "Sofia"}, ["u-2"]), name_writer("u-2", {}, ["u-2"])
    ('Sofia', 'You')
    >>> name_writer("k-1", {"u-1": "Sofia"}, ["u-2"]), name_writer("k-1", {}, ["u-2"])
    ('A program', 'A colleague')
    """
    if writer in own_ids:
        return "You"
    return people.get(writer) or ("A program" if people else "A colleague")
