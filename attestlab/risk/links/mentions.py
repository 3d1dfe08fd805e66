"""The entities that a fact names: its own, and those in well-known members of its details.

Only members of the details' outermost object count, because what is nested deeper describes something else. Ids have
one spelling, and placeholders link nothing: thousands share the device `unknown`, and no one else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import combinations
from typing import NamedTuple
from uuid import UUID

import orjson

from attestlab.risk.rules import ENTITY_ID, names_nothing, spell_id

MEMBERS = {
    "user": "user",
    "user_id": "user",
    "subject_id": "user",
    "device": "device",
    "device_id": "device",
    "ip": "ip",
    "ip_address": "ip",
    "document": "document",
    "document_id": "document",
    "session": "session",
    "session_id": "session",
    "issuer": "issuer",
    "issuer_id": "issuer",
    "attestation": "attestation",
    "attestation_id": "attestation",
}
MAX_ENTITIES = 6  # of one fact, with its own; they make fifteen links
_MAY_MENTION = re.compile(rf'"(?:{"|".join(MEMBERS)})":')


class LinkKey(NamedTuple):
    """Two entities of a tenant that facts of one source name together; the first sorts before the second.

    `kind` is that source, such as `login`.
    """

    tenant_id: UUID
    first_type: str
    first_id: str
    second_type: str
    second_id: str
    kind: str


def respell(key: LinkKey) -> LinkKey | None:
    """Return a link of two ids as they were sent, in their one spelling; None if one is a placeholder, or both are one.

    Links that older versions recorded stay as they are in the records, and are read with this.
    """
    ends = ((key.first_type, key.first_id), (key.second_type, key.second_id))
    if any(names_nothing(*end) for end in ends):
        return None
    first, second = sorted((kind, spell_id(kind, each)) for kind, each in ends)
    return None if first == second else LinkKey(key.tenant_id, *first, *second, key.kind)


class Fact(NamedTuple):
    """What links are made of: a signal or a raw event. `details` is JSON as stored."""

    tenant_id: UUID
    source: str
    entity_type: str
    entity_id: str
    details: str
    occurred_at: datetime


def may_mention(details: str) -> bool:
    """Whether details as stored may name entities; it takes half a microsecond."""
    return _MAY_MENTION.search(details) is not None


def find_links(fact: Fact) -> Iterator[LinkKey]:
    """Yield a link for each two entities that a fact names; most facts name one only, and cost a microsecond."""
    if not may_mention(fact.details):
        return
    named = dict.fromkeys([(fact.entity_type, fact.entity_id), *_find_mentions(fact.details)])
    for first, second in combinations([*named][:MAX_ENTITIES], 2):
        link = respell(LinkKey(fact.tenant_id, *first, *second, fact.source))
        if link is not None:
            yield link


def _find_mentions(details: str) -> Iterator[tuple[str, str]]:
    """Yield type and id of the entities in the members of a JSON object; a value that is no id is left out."""
    for name, value in orjson.loads(details).items():
        kind = MEMBERS.get(name)
        if kind is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and ENTITY_ID.fullmatch(value):
            yield kind, value
