"""Whether the tests that inject faults must run; continuous integration requires it, so none is skipped unseen."""

from __future__ import annotations

import os

VARIABLE = "REQUIRE_FAULT_TESTS"  # without the prefix of settings: a server warns of one that it does not know


def faults_are_required() -> bool:
    """Whether a machine that cannot inject a fault fails the tests that need it, instead of skipping them."""
    return os.environ.get(VARIABLE) == "1"
