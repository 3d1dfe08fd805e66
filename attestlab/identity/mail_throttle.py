"""Limit of the mails that anyone can have sent to an address: sign-up, verification, forgotten password.

Every request counts, whether the address has an account or not, so the limit tells nothing about it.
"""

from __future__ import annotations

from datetime import datetime

from attestlab.core.counting import plural
from attestlab.core.errors import RateLimited
from attestlab.core.limits.rate_counters import Counters
from attestlab.identity.rules import hash_address
from attestlab.orgs.role_rules import normalize_address

WINDOW_S = 60 * 60
MAX_MAILS_PER_RECIPIENT = 3


def count_mail(counters: Counters, email: str, *, now: datetime) -> str:
    """Count a mail that a request has sent to this address; return the address in lower case.

    Raises:
        ValidationFailed: mail cannot be delivered to the address.
        RateLimited: the address was sent three such mails within an hour.
    """
    address = normalize_address(email)
    key = f"mail:recipient:{hash_address(address)}"
    count = counters.count(key, limit=MAX_MAILS_PER_RECIPIENT, window_s=WINDOW_S, now=now)
    if not count.allowed:
        raise RateLimited.of_limit(
            f"An address is sent at most {MAX_MAILS_PER_RECIPIENT} of these mails an hour. Look for the last one, also "
            f"among unwanted mail, or retry in {plural(max(1, round(count.retry_after_s / 60)), 'minute')}.",
            limit=MAX_MAILS_PER_RECIPIENT,
            window_s=WINDOW_S,
            wait_s=count.retry_after_s,
        )
    return address
