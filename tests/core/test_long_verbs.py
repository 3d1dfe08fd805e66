"""Long writes are declared with their verb: each caller is referred, and a verb that forgets it is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.execution.long_verbs import (
    MAX_ROWS_INSIDE,
    DoneCall,
    ServiceCall,
    TakesLongWrite,
    long_write,
    refer_long_writes,
    require_declared,
)
from attestlab.installation import Installation

pytestmark = pytest.mark.one_world


class Trees:
    """A service that ends trees; `ended` are the sizes of those that it ended itself."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.ended: list[int] = []

    def _is_large(self, _execute: Execute, size: int, **_arguments: object) -> bool:
        return size > MAX_ROWS_INSIDE

    @long_write(_is_large)
    def end(self, size: int, *, dry_run: bool = False, tx: Transaction | None = None) -> str:
        """End a tree."""
        with self.storage.write(tx):
            self.ended.append(size)
        return f"{size} ended, dry run {dry_run}"

    def forget(self, size: int, *, tx: Transaction | None = None) -> None:
        """End a tree by a verb that is not declared."""
        with self.storage.write(tx):
            require_declared(size)


@pytest.fixture
def trees(lab: Installation) -> Trees:
    return Trees(lab.storage)


def call_in_a_job(trees: Trees, verb: Any, size: int, done: DoneCall | None = None, **more: Any) -> Any:
    with trees.storage.write() as tx, refer_long_writes(done):
        return verb(size, tx=tx, **more)


def test_a_long_call_of_a_job_is_referred_and_its_result_returned(trees: Trees) -> None:
    with pytest.raises(TakesLongWrite) as referred:
        call_in_a_job(trees, trees.end, 1_000)
    call = referred.value.call

    assert call == ServiceCall.of(partial(trees.end, 1_000))
    assert call_in_a_job(trees, trees.end, 1_000, DoneCall(call, "done elsewhere")) == "done elsewhere"
    assert trees.ended == []


def test_the_result_of_another_call_is_not_returned(trees: Trees) -> None:
    done = DoneCall(ServiceCall.of(partial(trees.end, 2_000)), "done elsewhere")
    with pytest.raises(TakesLongWrite):
        call_in_a_job(trees, trees.end, 1_000, done)


def test_a_short_call_and_a_dry_run_stay_in_the_job(trees: Trees) -> None:
    assert call_in_a_job(trees, trees.end, MAX_ROWS_INSIDE) == "200 ended, dry run False"
    assert call_in_a_job(trees, trees.end, 1_000, dry_run=True) == "1000 ended, dry run True"


def test_without_a_job_a_long_call_runs_where_it_is_called(trees: Trees) -> None:
    with trees.storage.write() as tx:
        trees.end(1_000, tx=tx)
    trees.end(2_000)
    with refer_long_writes():
        trees.end(3_000)  # it opens a unit of work that no one else waits in

    assert trees.ended == [1_000, 2_000, 3_000]


def test_a_verb_that_forgets_the_declaration_is_refused_and_says_how_to_declare_it(trees: Trees) -> None:
    call_in_a_job(trees, trees.forget, 2 * MAX_ROWS_INSIDE)
    with pytest.raises(TypeError, match=r"401 rows change in one job, at most 400 may\. Declare its verb: @long_write"):
        call_in_a_job(trees, trees.forget, 2 * MAX_ROWS_INSIDE + 1)
    trees.forget(100_000)
    with trees.storage.read() as connection, pytest.raises(TypeError, match=r"Trees\.forget may be long"):
        ServiceCall.of(partial(trees.forget, 1)).is_long(connection.execute)
