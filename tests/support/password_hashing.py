"""Hash passwords with argon2id at its smallest cost: every tenant of a test has an owner, and each hash takes 0.2 s.

The cost that the service runs with is required by tests/core/test_passwords.py, in a separate process.
"""

from __future__ import annotations

from argon2 import PasswordHasher

from attestlab.core.crypto import passwords

CHEAPEST = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def use_cheap_passwords() -> None:
    """Hash with the smallest cost from here on, in this process and those that it forks."""
    passwords._hasher = lambda: CHEAPEST
    passwords._dummy_hash.cache_clear()
