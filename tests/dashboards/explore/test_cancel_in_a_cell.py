"""Cancel in a cell breaks a request or a query off, in this process and over HTTP; the lab answers as before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, cast

import pytest

import attestlab
from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCancelled
from attestlab.core.errors import AttestLabError
from attestlab.orgs.rules import Plan
from attestlab_dashboards.cell.explorer import Explorer
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING
from support.path_proxy import PathProxy, Rewriting
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S

SIGNAL = ("gateway", "behavior", 1, "ip", "::1")
NO_ROWS_FOR_DAYS = "select count(*) from range(9000000) a, range(9000000) b where a.range * b.range % 7 = 3"
ROWS_THEN_NONE_FOR_DAYS = "select range from range(90000000000000) where range < 1000000"


def begin_load(view: Explorer, load: Callable[[Lab], object]) -> Future[object]:
    """Begin a long load in a view; returns it once it asks the service."""
    begun = threading.Event()

    def ask(lab: Lab, _state: object) -> object:
        begun.set()
        return load(lab)

    pane = Pane[Any, Any](key="slow", load=ask, draw=lambda _data, _state: NOTHING, reads=(), is_long=True)
    loading = view._cell.begin_load(pane, view.state)
    assert begun.wait(WAIT_TIMEOUT_S)
    return loading


def press_cancel(view: Explorer) -> None:
    view._receive(view._cell.open_window(lambda _message: None), {"cancel": True, "n": 1})


def explore(lab: Lab, page: str) -> Explorer:
    return cast(Explorer, lab.explore(page))


def test_cancel_ends_the_wait_for_the_service_of_this_process(caches: None) -> None:
    may_write = threading.Event()
    with attestlab.demo(history=False) as lab:
        hooks: list[Any] = lab._door.installation.storage.sequence_hooks  # type: ignore[attr-defined]
        hooks.append(lambda _tx: may_write.wait(WAIT_TIMEOUT_S))
        view = explore(lab, "risk")
        loading = begin_load(view, lambda lab: lab.signals.add(*SIGNAL))
        press_cancel(view)
        with pytest.raises(VerbCancelled):
            loading.result(WAIT_TIMEOUT_S / 2)
        may_write.set()
        assert lab.signals.add(*SIGNAL).score == 1


def cancel(view: Explorer, loading: Future[object]) -> None:
    """Cancel a load; its thread ends at once, and takes the next one."""
    press_cancel(view)
    with pytest.raises(VerbCancelled):
        loading.result(WAIT_TIMEOUT_S / 2)
    assert begin_load(view, lambda lab: len(lab.sql("select 1"))).result(WAIT_TIMEOUT_S) == 1


@pytest.fixture(params=["key", "person"])
def caller(owner: Lab, request: pytest.FixtureRequest) -> Lab:
    """A lab whose queries run in this process, and one whose queries run in a child process."""
    return owner if request.param == "person" else owner.as_(str(owner.me().tenant_id))


def test_cancel_ends_a_query_of_this_process_before_its_first_row(caller: Lab) -> None:
    view = explore(caller, "risk")
    loading = begin_load(view, lambda lab: lab.sql(NO_ROWS_FOR_DAYS).arrow())
    time.sleep(0.5)  # the query runs by then; cancelled before, it does not begin
    cancel(view, loading)


def test_cancel_ends_a_query_of_this_process_between_two_rows(caller: Lab) -> None:
    view, arrived = explore(caller, "risk"), threading.Event()

    def read(lab: Lab) -> None:
        for _ in lab.sql(ROWS_THEN_NONE_FOR_DAYS):
            arrived.set()

    loading = begin_load(view, read)
    assert arrived.wait(WAIT_TIMEOUT_S)
    cancel(view, loading)


@pytest.fixture
def proxy(running: ServerProcess) -> Any:
    passing = PathProxy(Rewriting(""), running.url.removeprefix("http://"))
    yield passing
    passing.close()


def test_cancel_breaks_a_request_over_http_off(running: ServerProcess, proxy: PathProxy) -> None:
    installation = running.open_lab()
    key = installation.orgs.create_tenant("Breakers", plan=Plan.ENTERPRISE).api_key
    installation.close()
    with attestlab.connect(proxy.url, key) as lab:
        view = explore(lab, "risk")
        proxy.fall_silent()
        loading = begin_load(view, lambda lab: lab.me())
        press_cancel(view)
        with pytest.raises(VerbCancelled):
            loading.result(WAIT_TIMEOUT_S / 2)
        proxy.come_back()
        assert begin_load(view, lambda lab: lab.me().tenant_name).result(WAIT_TIMEOUT_S) == "Breakers"
        assert view.rows("who").df().empty
    with pytest.raises(AttestLabError, match="closed"):
        begin_load(view, lambda lab: lab.me()).result(WAIT_TIMEOUT_S)
