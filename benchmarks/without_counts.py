"""`python -m benchmarks.without_counts serve ...`: the real server without counts of protections and thresholds.

It is the other side of `people.verify_counted_ratio`: what counting costs a verification.
"""

from __future__ import annotations

import sys

from attestlab.billing.service import Billing
from attestlab.cli.main import main
from attestlab.core.db.transaction import Transaction
from attestlab.protections import verification_counts


def _count_nothing(_: Transaction) -> None:
    """Count no verification."""


if __name__ == "__main__":
    verification_counts.write_counts = _count_nothing
    Billing.find_thresholds = lambda _: []  # type: ignore[method-assign]
    sys.exit(main())
