"""A view of a service over HTTP: the same rows, a link, and what a lab without a key may see."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from attestlab import Lab
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Plan
from attestlab_dashboards.cell.explorer import Explorer
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def key(running: ServerProcess) -> str:
    installation = running.open_lab()
    made = installation.orgs.create_tenant("Explorers", plan=Plan.ENTERPRISE)
    installation.close()
    return made.api_key


@pytest.fixture(scope="module")
def outside(running: ServerProcess, key: str) -> Iterator[Lab]:
    with attestlab.connect(running.url, key) as lab:
        yield lab


def test_rows_query_and_script_come_over_http(outside: Lab, running: ServerProcess) -> None:
    given = {"source": "login", "signal_type": "ato", "score": 91, "entity_type": "user", "entity_id": "ada"}
    assert not outside.signals.add_many([{**given, "occurred_at": outside.now().isoformat()}]).rejected
    view = outside.explore("risk", days=7)
    frame = view.rows("who").df()
    assert list(frame["entity_id"]) == ["ada"]
    assert outside.sql(view.sql("who")).df().equals(frame)
    script = view.python()
    assert f'attestlab.connect({running.url!r}, os.environ.get("ATTESTLAB_API_KEY"))' in script
    exec(compile(script, "<the script of a view>", "exec"), {"lab": outside})


def test_a_link_leads_to_the_same_page_of_the_service(outside: Lab, running: ServerProcess) -> None:
    view = outside.explore("risk", days=7, source="login")
    assert view.link == f"{running.url}/dash/risk?window=7d&source=login"
    assert isinstance(view, Explorer)
    assert f'href="{running.url}/dash/' not in view["when"]._repr_mimebundle_()["text/html"]


def test_without_a_key_the_log_can_be_explored_and_nothing_else(running: ServerProcess) -> None:
    with attestlab.connect(running.url) as lab:
        view = lab.explore("log")
        assert isinstance(view, Explorer)
        assert 'data-pane="answer"' in view._repr_mimebundle_()["text/html"]
        with pytest.raises(PermissionDenied, match="needs an API key"):
            lab.explore("risk")
