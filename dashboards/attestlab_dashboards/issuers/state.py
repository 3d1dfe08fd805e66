"""`IssuerState`: what issuer governance shows, all of it in its address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import param

from attestlab.core.countries import ALPHA_2
from attestlab.issuers.rules import IssuerStatus, RiskRating, TrustTier, validate_kid
from attestlab_dashboards.parameters import (
    Value,
    choice,
    matching,
    moment,
    normalizing,
    object_id,
    page_number,
    read_uuid,
    sort_order,
)
from attestlab_dashboards.ranges import DayRange, read_range
from attestlab_dashboards.state import PageState

SORTS: Final = ("name", "status", "tier", "risk", "jurisdiction", "keys", "mints", "failures", "change", "last")
YESTERDAY: Final = "yesterday"
RANGES: Final[Mapping[str, int]] = {"30d": 30, "7d": 7, YESTERDAY: 1, "90d": 90, "365d": 365}  # days
AGE_LIMITS: Final = (90, 180, 365)  # days after which a key is due for rotation
DEFAULT_AGE_LIMIT: Final = 365
FILTERS: Final = ("status", "tier", "risk", "jurisdiction", "changed")
ISSUER_ASKS: Final = ("suspend", "reinstate", "revoke", "tier", "risk")
KEY_ASKS: Final = ("rotate", "revoke_key", "lose")
REQUEST_ASKS: Final = ("approve", "reject", "execute")
LISTED: Final = (5, 25, 100)  # webhook deliveries, by "more"
RESEND: Final = "resend"  # a webhook delivery
ADD: Final = "add"  # the one question that is about no object yet


class KeyName(NamedTuple):
    """A key: its issuer and its kid, which is unique within the issuer."""

    issuer_id: str
    kid: str

    def __str__(self) -> str:
        return f"{self.issuer_id}/{self.kid}"

    @classmethod
    def parse(cls, text: str) -> KeyName:
        """Read a name such as `0193b5a0-7f3c-7abc-8def-0123456789ab/registrar-1`.

        Raises:
            ValueError: it is none.
            ValidationFailed: it has no acceptable kid.
        """
        issuer_id, _, kid = text.partition("/")
        return cls(read_uuid(issuer_id), validate_kid(kid))


_read_key: Final = normalizing(KeyName.parse)


def _read_range(text: str) -> str:
    return text if text in RANGES else read_range(text)


def _read_country(text: str) -> str:
    return matching("|".join(ALPHA_2))(text.upper())


def _read_object(text: str) -> str:
    return _read_key(text) if "/" in text else read_uuid(text)


class IssuerState(PageState):
    """What issuer governance shows."""

    filters = FILTERS

    status = choice("", *map(str, IssuerStatus), doc="The status of the issuers that are listed; empty for all.")
    tier = choice("", *map(str, TrustTier), doc="The trust tier of these issuers.")
    risk = choice("", *map(str, RiskRating), doc="The risk rating of these issuers.")
    jurisdiction = Value("", read=_read_country, doc="The country of these issuers, as ISO 3166-1 alpha-2.")
    changed = param.Boolean(
        default=False, doc="Whether only issuers are listed whose standing changed since they first signed."
    )
    range = Value(
        "30d", read=_read_range, doc="The time over which failed verifications are counted, or its days, from/to."
    )
    sort = sort_order("-mints", SORTS, doc="The column that sorts the issuers")
    page = page_number(doc="The page of the issuers.")
    drift_page = page_number(doc="The page of the attestations whose issuer stood otherwise at the mint.")
    keys_page = page_number(doc="The page of the keys.")
    trail_page = page_number(doc="The page of the audit lines.")
    actor = Value("", read=matching(r"[A-Za-z0-9_.:-]{1,64}"), doc="The actor whose audit lines alone are shown.")
    age_limit = choice(DEFAULT_AGE_LIMIT, *AGE_LIMITS, doc="Days after which a key is due for rotation.")
    key = Value("", read=_read_key, doc="The key whose loss is counted, issuer/kid.")
    since = moment(doc="The time of the loss of that key.")
    issuer = object_id(doc="The issuer of the open drawer.")
    endpoint = object_id(doc="The webhook endpoint whose deliveries are shown.")
    listed = choice(*LISTED, doc="How many of these deliveries are listed.")
    ask = choice("", *ISSUER_ASKS, *KEY_ASKS, *REQUEST_ASKS, RESEND, ADD, doc="The question of the open dialog.")
    about = Value("", read=_read_object, doc="The issuer, key, request or delivery that the open dialog is about.")

    def find_conflicts(self) -> list[str]:
        """Find a question that is not about an object of its kind; `add` alone is about none."""
        if not self.about:
            is_complete = self.ask in ("", ADD)
        else:
            is_complete = self.ask not in ("", ADD) and ("/" in self.about) == (self.ask in KEY_ASKS)
        return [] if is_complete else list(self.list_changed(("ask", "about")))

    @property
    def own_range(self) -> DayRange | None:
        """The days of an own range, None for those that end now."""
        return None if self.range in RANGES else DayRange.parse(self.range)
