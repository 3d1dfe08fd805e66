"""`show tables`, `describe` and `summarize`, which people type first: in process and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import attestlab
from attestlab.client.lab import Lab
from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.lake import views
from attestlab.orgs.rules import Scope
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def inside(running: ServerProcess) -> Iterator[Lab]:
    with attestlab.open(running.database_url, data=running.data) as lab:
        lab.signals.add("gateway", "behavior", 50, "user", "u-1")
        yield lab


@pytest.fixture(scope="module", params=["in process", "over HTTP"])
def lab(request: pytest.FixtureRequest, inside: Lab, running: ServerProcess) -> Iterator[Lab]:
    if request.param == "in process":
        yield inside
    else:
        with attestlab.connect(running.url, running.made["api_key"]) as connected:
            yield connected


def test_show_tables_lists_the_data_sets(lab: Lab) -> None:
    names = [row["name"] for row in lab.sql("show tables;")]

    assert names == sorted(views.BY_NAME)
    assert len(lab.sql("SHOW TABLES")) == len(names)


def test_show_tables_lists_what_the_key_may_read(running: ServerProcess, inside: Lab) -> None:
    installation = running.open_lab()
    owner = installation.orgs.service_caller(inside.me().tenant_id)
    key = installation.orgs.api_keys.create("narrow", scopes={Scope.RISK_READ}, caller=owner)
    installation.close()

    with attestlab.connect(running.url, key.secret) as narrow:
        names = [row["name"] for row in narrow.sql("show tables")]
        with pytest.raises(PermissionDenied, match="audit requires the scope audit:read"):
            narrow.sql("describe audit").arrow()

    assert names == ["cases", "challenges", "log_entries", "raw_events", "signals"]


def test_describe_lists_the_columns(lab: Lab) -> None:
    queries = lab.sql("describe signals"), lab.signals.sql("describe this"), lab.sql("describe select * from signals")
    for rows in queries:
        assert [row["column_name"] for row in rows] == lab.signals.columns


def test_summarize_counts_the_rows(lab: Lab) -> None:
    count = len(lab.signals)
    for rows in (lab.sql("summarize signals"), lab.signals.sql("summarize this;")):
        assert {row["count"] for row in rows} == {count}


@pytest.mark.parametrize("query", ["show all tables", "describe", "show databases", "select * from (show schemas)"])
def test_other_lists_are_refused_in_plain_words(lab: Lab, query: str) -> None:
    with pytest.raises(ValidationFailed, match=r"`show tables` lists the data sets, `describe signals` its columns"):
        lab.sql(query).arrow()


def test_a_text_with_these_words_is_no_list(lab: Lab) -> None:
    assert list(lab.sql("select 'show tables' as word, ? as describe", [1])) == [{"word": "show tables", "describe": 1}]
