"""A view of a service over HTTP: the same rows, a link, and what a lab without a key may see."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import cast

import pytest

import attestlab
from attestlab import Lab
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Plan
from attestlab_dashboards.cell.explorer import Explorer
from attestlab_dashboards.log.public_reads import find_size_before, read_logged_at, sample_sizes
from support.server_process import ServerProcess

CLAIMS = {"student_name": "Ada Lovelace", "institution": "Harbour", "degree_type": "MSc"}
FAILURES = ("could not be read", "You may not", "not in the log", "Credentials are required")


@pytest.fixture(scope="module")
def key(running: ServerProcess) -> str:
    installation = running.open_lab()
    made = installation.orgs.create_tenant("Explorers", plan=Plan.ENTERPRISE)
    installation.close()
    return made.api_key


@pytest.fixture(scope="module")
def minted(outside: Lab) -> str:
    """The id of an attestation that was minted last."""
    outside.issuers.create("Harbour", "harbour.example")
    return str(outside.mint(issuer="Harbour", schema="degree", claims=CLAIMS).id)


@pytest.fixture(scope="module")
def public(running: ServerProcess) -> Iterator[Lab]:
    """A lab without a key."""
    with attestlab.connect(running.url) as lab:
        yield lab


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


def test_without_a_key_the_log_can_be_explored_and_nothing_else(minted: str, public: Lab) -> None:
    size = len(public.log)
    view = cast(Explorer, public.log.explore(entry=size - 1))
    shown = view._repr_mimebundle_()["text/html"]
    assert f"<b>{size - 1}</b>" in shown
    assert "nothing was changed" in shown or "nothing older was changed" in shown
    assert minted[:8] in shown
    assert [words for words in FAILURES if words in shown] == []
    with pytest.raises(PermissionDenied, match="needs an API key"):
        public.explore("risk")


def test_without_a_key_rows_and_script_are_those_of_the_public_log(minted: str, public: Lab) -> None:
    view = public.log.explore()
    assert len(view.rows("entries").df()) == len(public.log)
    script = view.python()
    assert f"lab.log.proof({len(public.log) - 1})" in script
    exec(compile(script, "<the script of a view>", "exec"), {"lab": public})
    for refused in (lambda: view.sql("entries"), lambda: view.rows("growth")):
        with pytest.raises(PermissionDenied, match="with an API key"):
            refused()
    filtered = cast(Explorer, view.set(type="attestation.minted"))
    assert "filtered for callers with an API key" in filtered._repr_mimebundle_()["text/html"]


def test_without_a_key_the_log_of_a_week_ago_is_found_by_its_entries(minted: str, public: Lab) -> None:
    size = len(public.log)
    times = [read_logged_at(entry) for entry in public.log]
    for at in (times[0] - timedelta(seconds=1), times[size // 2], times[-1]):
        assert find_size_before(public, size, at) == sum(time <= at for time in times)
    sampled = list(sample_sizes(public, size, 24))
    assert sampled[-1] == (times[-1], size)
    assert all(times[entries - 1] == at for at, entries in sampled)
