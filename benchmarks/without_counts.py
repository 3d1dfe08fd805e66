"""`python -m benchmarks.without_counts serve ...`: the real server without counts of protections and thresholds.

It is the other side of `people.verify_counted_ratio`: what counting costs a verification.
"""

from __future__ import annotations

from attestlab.billing.service import Billing
from attestlab.billing.thresholds import ReachedThreshold
from attestlab.cli.main import main
from attestlab.core.db.transaction import Transaction
from attestlab.protections import verification_counts


def _count_nothing(tx: Transaction) -> None:
    """Count no verification."""


def _find_nothing(self: Billing) -> list[ReachedThreshold]:
    return []


if __name__ == "__main__":
    verification_counts.write_counts = _count_nothing
    Billing.find_thresholds = _find_nothing  # type: ignore[method-assign]
    main()
