"""docs/lake.md says where the memory and the time of a query are limited, and where they are not."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

import attestlab
from attestlab.core.errors import ValidationFailed
from attestlab.core.execution.job_watch import IdleLimits
from attestlab.core.execution.worker_processes import MAX_WAITING
from attestlab.lake import queries, rules
from attestlab.lake.service import PARTS_A_SWEEP
from support.server_process import ServerProcess

ROOT = Path(__file__).parents[2]
TEXT = " ".join((ROOT / "docs" / "lake.md").read_text().split())


def test_memory_is_limited_over_http(key: httpx.Client) -> None:
    """DuckDB does not count what a function makes; the kernel does."""
    answer = key.post("/v1/lake/query", json={"sql": "select length(printf('%2000000000d', 1))"})

    assert answer.status_code == 503
    assert "over 1,024 MiB; select fewer rows" in answer.json()["message"]


def test_in_process_duckdb_limits_its_buffers_and_spills_nothing(running: ServerProcess) -> None:
    settings = "select current_setting('memory_limit') as memory, current_setting('temp_directory') as folder"
    with attestlab.open(running.database_url, data=running.data) as lab:
        assert list(lab.sql(settings)) == [{"memory": "953.6 MiB", "folder": ""}]
        with pytest.raises(ValidationFailed, match=r"more memory than DuckDB may use .*group them\."):
            lab.sql("select list(range) from range(1000000000)").arrow()


def test_the_limits_of_the_table_are_those_of_the_code() -> None:
    free, other = rules.allow_queries("FREE"), rules.allow_queries("STARTER")
    assert free.share is not None
    rows = {
        "processor time of a query": (f"{free.timeout_s:g} s", f"{other.timeout_s:g} s"),
        "elapsed time of a query": (f"{rules.MAX_QUERY_S / 60:g} minutes",) * 2,
        "memory of a query": (f"{queries.MAX_MEMORY_BYTES >> 30} GiB",) * 2,
        "queries of a tenant at once": (str(free.share.of_a_tenant), str(rules.QUERIES_OF_A_TENANT)),
        "queries of all tenants at once": (str(free.share.of_all), f"{rules.QUERY_PROCESSES}, with those of FREE"),
        "queries of a tenant in the queue": (str(MAX_WAITING),) * 2,
    }
    for name, values in rows.items():
        assert f"| {name} | {' | '.join(values)} |" in TEXT


def test_the_limits_in_sentences_are_those_of_the_code() -> None:
    idle = IdleLimits()
    assert f"in {idle.window_s:g} seconds it used less than {idle.min_processor_s:g} s of processor time" in TEXT
    assert f"its client read less than {idle.min_read_bytes_a_second >> 10} KiB/s" in TEXT
    assert f"at most {rules.MAX_JSON_ROWS:,} rows" in TEXT
    assert f"{queries.MAX_RESULT_BYTES >> 20} MiB of rows as a result" in TEXT
    assert PARTS_A_SWEEP == 16
    assert "at most sixteen in half a minute" in TEXT


def test_no_document_promises_bounded_memory_in_process() -> None:
    """Of documents and docstrings: the words that once promised it for every `.sql`."""
    files = [
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*.md"),
        *ROOT.glob("attestlab/client/**/*.py"),
        *ROOT.glob("attestlab/client/**/*.pyi"),
    ]
    found = [file.name for file in files if re.search("sealed and bounded in time and memory", file.read_text())]

    assert found == []
