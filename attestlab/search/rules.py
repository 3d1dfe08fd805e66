"""Rules of the search: what a caller may find, what a text can be the beginning of, and a fair choice of what is found.

Ids and hashes are found by their beginning from `MIN_PREFIX_LENGTH` characters on, names by any part (CONTRACT 8).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import chain, zip_longest
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from attestlab.orgs.role_rules import is_manager
from attestlab.orgs.rules import Caller, Realm, Scope

Found = TypeVar("Found")
MIN_PREFIX_LENGTH: Final = 4
MAX_TEXT_LENGTH: Final = 256  # the longest id of an entity
MAX_ITEMS: Final = 50
DEFAULT_ITEMS: Final = 20
_HASH_PREFIX = "sha256:"
_PART_OF_UUID = re.compile(r"[0-9a-f-]{4,36}")
_PART_OF_HASH = re.compile(r"[0-9a-f]{4,64}")
_PART_OF_DECISION = re.compile(r"DEC_[0-9A-Z]{0,26}")
_DECISION_LENGTH = 30
_LAST_CHARACTER = "\U0010ffff"


class FoundType(StrEnum):
    """What kind of thing the search found."""

    ENTITY = "entity"
    CASE = "case"
    ISSUER = "issuer"
    KEY = "key"
    POLICY = "policy"
    DECISION = "decision"
    ATTESTATION = "attestation"
    PERSON = "person"
    PAGE = "page"


# The scope of the route that reads one of them; without it, the search leaves the type out.
SCOPES: Final[Mapping[FoundType, Scope]] = {
    FoundType.ENTITY: Scope.RISK_READ,
    FoundType.CASE: Scope.RISK_READ,
    FoundType.ISSUER: Scope.ISSUERS_READ,
    FoundType.KEY: Scope.ISSUERS_READ,
    FoundType.POLICY: Scope.POLICIES_READ,
    FoundType.DECISION: Scope.POLICIES_READ,
    FoundType.ATTESTATION: Scope.ATTESTATIONS_READ,
    FoundType.PERSON: Scope.USERS_READ,
}


class Span(NamedTuple):
    """The texts from `first` to before `end`, compared by their bytes."""

    first: str
    end: str

    @classmethod
    def of_prefix(cls, prefix: str) -> Span:
        """Return the span of the texts that begin with a text.

        >>> Span.of_prefix("device-") == Span("device-", "device-" + chr(0x10FFFF))
        True
        """
        return cls(prefix, prefix + _LAST_CHARACTER)


class PageEntry(NamedTuple):
    """A page of the dashboards: its name, what people come for, and the scope without which it shows nothing."""

    path: str
    name: str
    about: str
    scope: Scope | None = None


PAGES: Final = (
    PageEntry("risk", "Risk", "Signals, entities, cases and rings"),
    PageEntry("policy", "Policy", "Rules, simulations and decisions"),
    PageEntry("log", "Log", "Proofs, entries and witnesses of the log"),
    PageEntry("issuers", "Issuers", "Issuers, their keys, requests, audit trail and webhooks"),
    PageEntry("agents", "Agents", "Agents, their sessions, rights and runs", Scope.AGENTS_READ),
    PageEntry("access", "Access", "People, API keys, sessions and what each did", Scope.USERS_READ),
    PageEntry("usage", "Usage", "Plan, limits and invoices", Scope.BILLING_READ),
)


def select_types(wanted: Iterable[FoundType], caller: Caller) -> list[FoundType]:
    """Return the types that a caller may find, in the order in which they were wanted."""
    return [each for each in dict.fromkeys(wanted) if each not in SCOPES or SCOPES[each] in caller.scopes]


def may_find_api_keys(caller: Caller) -> bool:
    """Whether a caller may list the API keys of the tenant: an owner or admin who is signed in."""
    return caller.actor_type == "USER" and caller.realm != Realm.CONSUMER and is_manager(caller.roles)


def list_prefixes(text: str) -> list[str]:
    """List the beginnings of ids that a text may be, as written and in lower case; none of a short text.

    >>> list_prefixes("Dev-9"), list_prefixes("dev-9"), list_prefixes("dev")
    (['Dev-9', 'dev-9'], ['dev-9'], [])
    """
    return [] if len(text) < MIN_PREFIX_LENGTH else list(dict.fromkeys((text, text.lower())))


def parse_id_range(text: str) -> tuple[UUID, UUID] | None:
    """Parse the beginning of a UUID, with or without hyphens: the first and the last id that begin so.

    >>> parse_id_range("0199A")
    (UUID('0199a000-0000-0000-0000-000000000000'), UUID('0199afff-ffff-ffff-ffff-ffffffffffff'))
    >>> parse_id_range("019") is None, parse_id_range("0-199a") is None
    (True, True)
    """
    lower = text.lower()
    digits = lower.replace("-", "")
    if not _PART_OF_UUID.fullmatch(lower) or not MIN_PREFIX_LENGTH <= len(digits) <= 32:
        return None
    first = UUID(digits.ljust(32, "0"))
    is_spelt_so = str(first).startswith(lower.rstrip("-")) or lower == digits
    return (first, UUID(digits.ljust(32, "f"))) if is_spelt_so else None


def parse_hash_range(text: str) -> Span | None:
    """Parse the beginning of a SHA-256 in hex digits, also after `sha256:`.

    >>> parse_hash_range("sha256:00FF")
    Span(first='00ff', end='00ffg')
    """
    digits = text.lower().removeprefix(_HASH_PREFIX)
    return Span(digits, f"{digits}g") if _PART_OF_HASH.fullmatch(digits) else None


def parse_decision_range(text: str) -> Span | None:
    """Parse the beginning of a decision's id, `dec_` and a ULID; the ids from `first` up to and with `end`.

    >>> parse_decision_range("dec_01k").first
    'dec_01K00000000000000000000000'
    """
    if not _PART_OF_DECISION.fullmatch(text.upper()):
        return None
    begun = f"dec_{text.upper()[4:]}"
    return Span(begun.ljust(_DECISION_LENGTH, "0"), begun.ljust(_DECISION_LENGTH, "Z"))


def list_spellings(text: str) -> list[str]:
    """List the spellings of a part of a name: SQLite ignores the case of ASCII letters alone.

    >>> list_spellings("züri")
    ['züri', 'ZÜRI', 'Züri']
    """
    return list(dict.fromkeys((text, text.lower(), text.upper(), text.title())))


def find_pages(text: str, caller: Caller) -> list[PageEntry]:
    """Find the pages that have a text in their name or purpose; those that the caller may see."""
    part = text.casefold()
    found = [each for each in PAGES if part in f"{each.name} {each.about}".casefold() and _may_see(each, caller)]
    return sorted(found, key=lambda each: part not in each.name.casefold())


def _may_see(page: PageEntry, caller: Caller) -> bool:
    return page.scope is None or page.scope in caller.scopes


def share_fairly(groups: Sequence[Collection[Found]], limit: int) -> list[Found]:
    """Return at most `limit` items, in the order of their groups, so that no long group takes the place of another.

    >>> share_fairly([["a", "b", "c", "d"], [], ["x"], ["y", "z"]], 5)
    ['a', 'b', 'x', 'y', 'z']
    """
    by_turns = chain.from_iterable(zip_longest(*([index] * len(group) for index, group in enumerate(groups))))
    taken = [index for index in by_turns if index is not None][:limit]
    return [item for index, group in enumerate(groups) for item in list(group)[: taken.count(index)]]


def compose_address(page: str, **query: str) -> str:
    """Compose the address of a page of the dashboards, below the address of the service.

    >>> compose_address("risk", entity="device:d 1")
    '/dash/risk?entity=device%3Ad+1'
    """
    return f"/dash/{page}?{urlencode(query)}" if query else f"/dash/{page}"
