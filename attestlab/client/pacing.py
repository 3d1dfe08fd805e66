"""Pauses that keep a client within the rate limit that each response names (`X-RateLimit-*`).

A service blocks a client that it had to refuse five times within ten minutes, however politely the client waited after
each refusal. So a client whose limit is used up waits for the next request that it allows, and is not refused at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MAX_PAUSE_S: Final = 2.0  # a limit that refills more slowly is left to `Retry-After`
_POLICY = re.compile(r"([1-9][0-9]{0,8});w=([0-9]{1,8})", re.ASCII)


def find_pause_s(headers: Mapping[str, str]) -> float:
    """Compute how long the next request should wait after a response with these headers, in seconds.

    It is 0 while the limit allows more, and where the headers are missing or no rate limit.
    """
    policy = _POLICY.fullmatch(headers.get("x-ratelimit-policy", ""))
    if policy is None or headers.get("x-ratelimit-remaining") != "0":
        return 0.0
    requests, window_s = map(int, policy.groups())
    pause_s = window_s / requests
    return pause_s if pause_s <= MAX_PAUSE_S else 0.0
