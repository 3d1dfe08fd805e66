"""No connection to PostgreSQL stays open once its pool is closed, although a thread used it at that moment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from attestlab.core.db.postgresql import driver_of
from attestlab.core.db.storage import Storage

pytestmark = pytest.mark.on_postgresql


@pytest.mark.parametrize("end_pool", [Storage.close, Storage.serve_requests], ids=["closed", "other_limits"])
def test_a_connection_in_use_closes_when_its_thread_returns_it(
    storage: Storage, end_pool: Callable[[Storage], None]
) -> None:
    connection = storage.open_session()
    driver = driver_of(connection)
    end_pool(storage)
    assert not driver.closed, "its thread has not finished"
    connection.close()
    assert driver.closed


def test_a_thread_that_reads_after_the_end_leaves_no_connection_open(storage: Storage) -> None:
    storage.close()
    with storage.read() as connection:
        driver = driver_of(connection)
    assert driver.closed


def test_a_connection_returns_to_the_pool_of_a_server(storage: Storage) -> None:
    storage.serve_requests()
    with storage.read() as first:
        driver = driver_of(first)
    with storage.read() as second:
        assert driver_of(second) is driver
