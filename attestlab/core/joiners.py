"""Zero-width joiners (U+200C and U+200D, Unicode 23.2), which many scripts and emoji need between two signs.

They reorder nothing, and between visible characters they hide nothing; elsewhere they are invisible characters.
"""

from __future__ import annotations

import re
from typing import Final

JOINERS: Final = "\u200c\u200d"
_BETWEEN_VISIBLE = re.compile(f"(?<=[^\\s{JOINERS}])[{JOINERS}](?=[^\\s{JOINERS}])")


def drop_joiners(text: str) -> str:
    """Drop the joiners between two visible characters; a joiner elsewhere stays.

    >>> drop_joiners("👩\u200d🔬"), drop_joiners("no sign follows:\u200d")
    ('👩🔬', 'no sign follows:\\u200d')
    """
    return _BETWEEN_VISIBLE.sub("", text)
