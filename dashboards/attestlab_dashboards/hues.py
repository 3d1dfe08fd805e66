"""Which colour of the charts belongs to a name: always the same one, whatever else is shown or filtered.

The colours are those of `tokens.css`. Names that are known have one that no other of them has in the same
chart; any other name has one that follows from its letters, so it may share that with another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from zlib import crc32

HUES: Final = ("c0", "c2", "c3", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12")
OTHER_HUE: Final = "c1"  # of all others together; the loud one, as their bursts are to be seen first
PLAIN_HUE: Final = "c4"  # of what no name distinguishes
_NAMED: Final[Mapping[str, str]] = {
    # sources
    "session": "c0",
    "gateway": "c2",
    "device": "c3",
    "media": "c5",
    "payments": "c6",
    "login": "c7",
    "agent": "c8",
    "limits": "c9",
    "issuance": "c10",
    "velocity": "c11",
    "verification": "c12",
    # types of signals
    "ato": "c0",
    "geo_anomaly": "c2",
    "behavior": "c3",
    "deepfake": "c5",
    "mutual_attestation": "c8",
}


def hue_of(name: str) -> str:
    """Return the colour of a name; without a name, that of all others together.

    >>> hue_of("session"), hue_of("media"), hue_of("")
    ('c0', 'c5', 'c1')
    """
    if not name:
        return OTHER_HUE
    return _NAMED.get(name) or HUES[crc32(name.encode()) % len(HUES)]
