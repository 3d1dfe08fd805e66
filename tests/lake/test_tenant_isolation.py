"""A caller's SQL reads the caller's facts only: no file, setting, variable or other tenant."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest
from portal.test_hostile_strings import PAYLOADS

from attestlab.core.errors import Unavailable, ValidationFailed
from attestlab.installation import Installation
from attestlab.lake import queries
from attestlab.orgs.rules import Caller, Plan
from support.lake import DATASETS, LakeScenario, LakeTenant, read_recorded_ids

SECRET = "the other tenant's own words"
FRAGMENTS = (
    "' or '1'='1",
    "'; drop view this; --",
    "\"; attach '/etc/passwd' as x; --",
    "') union all select * from this --",
    "\\'; select 1; --",
    "$1",
    "?",
    "{tenant_id}",
    "%s",
    "a\u0000b",
    "../../audit",
    "*.parquet",
    "read_text('/etc/passwd')",
    "\ud7ff\uffff",
    "\U0001d4a9ULL",
    "NULL",
)

ESCAPES = (
    "select * from read_text('{file}')",
    "select * from read_blob('{file}')",
    "select * from read_csv('{file}')",
    "select * from read_json('{file}')",
    "select * from read_parquet('{part}')",
    "select * from parquet_metadata('{part}')",
    "select * from '{part}'",
    "select * from sniff_csv('{file}')",
    "select * from glob('{folder}/*')",
    "from query('select * from read_text(''{file}'')')",
    "from query_table('{part}')",
    "select * from duckdb_secrets()",
    "select * from which_secret('{file}', 's3')",
    "select * from duckdb_extensions()",
    "select getenv('PATH')",
    "select * from secret_frame",
    "select * from arrow_scan(1::pointer, 1::pointer, 1::pointer)",
    "with x as (select * from read_text('{file}')) select * from x, this",
    "select (select content from read_text('{file}')) from this",
)
STATEMENTS = (
    "copy (select * from this) to '{folder}/out.parquet'",
    "copy this from '{part}'",
    "attach '{folder}/x.db' as x",
    "attach ':memory:' as x",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "reset lock_configuration",
    "set variable x = 1",
    "pragma enable_profiling",
    "create secret s (type s3, key_id 'a', secret 'b')",
    "create table t as select * from this",
    "export database '{folder}/out'",
    "import database '{folder}'",
    "call pragma_database_size()",
    "drop view this",
    "prepare x as select 1",
    "checkpoint",
    "select 1; copy (select 1) to '{folder}/out.csv'",
    "select 1; select 2",
    "",
    "-- nothing",
    "select",
)


@pytest.fixture
def lake_of_two(lake_scenario: LakeScenario) -> LakeScenario:
    """Half of it exported."""
    for number in range(16):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    for number in range(16, 24):
        lake_scenario.act(number)
    return lake_scenario


def test_query_cannot_leave_the_connection(lake_of_two: LakeScenario, tmp_path: Path) -> None:
    """Reading files, listing folders, secrets, extensions, the environment, the variables of this very function."""
    secret_frame = lake_of_two.lab.lake(lake_of_two.other.caller).audit.df()
    assert len(secret_frame) > 0
    facts = lake_of_two.lab.lake(lake_of_two.owner.caller).decisions

    def is_refused(query: str) -> bool:
        try:
            facts.sql(_placed(query, lake_of_two, tmp_path)).fetchall()
        except duckdb.Error:
            return True
        return False

    assert is_refused("select * from this") is False
    assert [query for query in ESCAPES if not is_refused(query)] == []


def test_anything_but_one_query_is_rejected(lake_of_two: LakeScenario, tmp_path: Path) -> None:
    """Nothing is written, attached, installed, loaded or set; not by a second statement either."""
    facts = lake_of_two.lab.lake(lake_of_two.owner.caller).audit
    for statement in STATEMENTS:
        with pytest.raises(ValidationFailed):
            facts.sql(_placed(statement, lake_of_two, tmp_path))

    assert sorted(tmp_path.rglob("out*")) == []


def test_relation_writes_no_file_and_stays_locked(lake_of_two: LakeScenario, tmp_path: Path) -> None:
    """The connection stays closed for every holder, and has no folder that it may read all the same."""
    rel = lake_of_two.lab.lake(lake_of_two.owner.caller).decisions.rel()

    with pytest.raises(duckdb.Error):
        rel.write_parquet(str(tmp_path / "out.parquet"))
    with pytest.raises(duckdb.Error):
        rel.query("x", "copy (select * from x) to '/tmp/attestlab-out.csv'")
    allowed = "current_setting('allowed_directories') || current_setting('allowed_paths')"
    assert rel.query("x", f"select {allowed} from x limit 1").fetchall() == [([],)]


def _placed(text: str, lake_scenario: LakeScenario, folder: Path) -> str:
    file = folder / "secret.txt"
    file.write_text(SECRET)
    part = next(lake_scenario.lab.lake.folder.joinpath("audit", str(lake_scenario.other.caller.tenant_id)).iterdir())
    return text.replace("{file}", str(file)).replace("{part}", str(part)).replace("{folder}", str(folder))


def test_connection_contains_only_rows_of_the_caller(lake_of_two: LakeScenario) -> None:
    """Not only `this`: each table that it stands on has the caller's rows and no others."""
    mine, theirs = lake_of_two.owner.caller.tenant_id, lake_of_two.other.caller.tenant_id
    for name in DATASETS:
        if name == "log_entries":
            continue
        facts = lake_of_two.seen(lake_of_two.owner)[name]
        tables = facts.sql("select view_name from duckdb_views() where not internal").fetchall()
        assert len(tables) >= 3
        for (table,) in tables:
            assert facts.sql(f'select distinct tenant_id from "{table}"').fetchall() in ([], [(str(mine),)]), table
            assert facts.sql(f'select * from "{table}" where tenant_id = ?', [str(theirs)]).fetchall() == []


def test_new_tenant_sees_only_the_log(lake_of_two: LakeScenario) -> None:
    made = lake_of_two.lab.orgs.create_tenant("Empty tenant", plan=Plan.FREE)
    caller = lake_of_two.lab.orgs.service_caller(made.tenant_id)
    lake = lake_of_two.lab.lake(caller)

    assert (len(lake.decisions), len(lake.attestations), len(lake.verifications)) == (0, 0, 0)
    assert lake.audit.sql("select distinct tenant_id from this").fetchall() == [(str(made.tenant_id),)]
    assert len(lake.log_entries) == len(lake_of_two.lab.lake(lake_of_two.owner.caller).log_entries)


def hostile(count: int) -> list[str]:
    """Fragments, joined at random; each has the mark of who wrote it."""
    chance = random.Random(8)
    pool = [*PAYLOADS, *FRAGMENTS]
    return [" ".join(chance.sample(pool, 3))[:300] for _ in range(count)]


def test_hostile_strings_are_values_of_their_tenant(lab: Installation, caller: Caller, is_long: bool) -> None:
    """
    One tenant writes them wherever a decision takes text, asks for each of them, and asks with each as SQL.

    Nothing comes back but the tenant's own facts; and what the other tenant wrote comes back to no other tenant.
    """
    lab.lake.rows_a_part = 300 if is_long else 60
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Other", plan=Plan.PROFESSIONAL).tenant_id)
    for who in (caller, other):
        lab.policy_attributes.replace(
            [{"path": "note", "type": "text"}, {"path": "allowed", "type": "text"}], caller=who
        )
    mine, theirs = LakeTenant(lab, caller, caller.tenant_id, ""), LakeTenant(lab, other, other.tenant_id, "")
    texts = hostile(1_000 if is_long else 200)
    with lab.storage.write() as tx:
        for number, text in enumerate(texts):
            mine.decide(tx, note=text, allowed=text)
            if number % 10 == 0:
                theirs.decide(tx, note=SECRET + text[:100], allowed=SECRET)
    lab.lake.export()

    decisions = lab.lake(caller).decisions
    assert sorted(decisions.arrow()["id"].to_pylist()) == read_recorded_ids(lab, caller.tenant_id)["decisions"]
    stored = [text for (text,) in decisions.sql("select note from this order by seq").fetchall()]
    assert stored == [None if "\x00" in text else text for text in texts]
    assert decisions.sql('select count(*) from this where "@allowed" is distinct from note').fetchall() == [(0,)]
    look = decisions.sql("select 1").fetchall() and decisions
    for text in texts[::40]:
        found = look.sql("select count(*) from this where note = ?", [text]).fetchall()[0][0]
        assert found == (0 if "\x00" in text else texts.count(text))
        _require_harmless(look, text)
    assert len(lab.lake(other).decisions) == len(texts) // 10


def _require_harmless(facts: object, text: str) -> None:
    """As SQL it is refused, or gives rows without a word of the other tenant."""
    for query in (text, f"select * from this where note = '{text}'", f"select '{text}' from this"):
        try:
            rows = facts.sql(query).fetchall()  # type: ignore[attr-defined]
        except (duckdb.Error, ValidationFailed, UnicodeError):
            continue
        assert not any(SECRET in str(value) for row in rows for value in row)


def test_query_memory_is_limited(lake_of_two: LakeScenario) -> None:
    """DuckDB limits its buffers, not what a function makes: a single printf took four gigabytes."""
    facts = lake_of_two.lab.lake(lake_of_two.owner.caller).decisions
    for query in ("select length(printf('%s', repeat('x', 4000000000)))", "select list(range) from range(1000000000)"):
        with pytest.raises(Unavailable, match="over 1,024 MiB; select fewer rows"):
            facts.sql(query)

    assert facts.sql("select count(*) > 0, sum(seq)::hugeint > 0 from this").fetchall() == [(True, True)]


def test_endless_query_is_killed(lake_of_two: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "TIMEOUT_S", 0.5)
    facts = lake_of_two.lab.lake(lake_of_two.owner.caller).decisions
    with pytest.raises(Unavailable, match=r"over 0\.5 s"):
        facts.sql("select count(*) from range(2000000) a, range(2000000) b where (a.range * b.range) % 7 = -1")

    monkeypatch.setattr(queries, "TIMEOUT_S", 60.0)
    assert facts.sql("select 1").fetchall() == [(1,)]


def test_result_size_is_limited(lake_of_two: LakeScenario) -> None:
    facts = lake_of_two.lab.lake(lake_of_two.owner.caller).decisions
    with pytest.raises(Unavailable, match="over 256 MiB"):
        facts.sql("select range, range + 1, range + 2, range + 3 from range(20000000)")


def test_query_result_keeps_its_types(lake_of_two: LakeScenario) -> None:
    query = "select sum(1), '0193b5a0-7f3c-7abc-8def-0123456789ab'::uuid, {'a': [1]}, created_at from this limit 1"
    relation = lake_of_two.lab.lake(lake_of_two.owner.caller).decisions.sql(query.replace("sum(1)", "1::hugeint"))

    kinds = [str(kind) for kind in relation.types]
    assert kinds == ["HUGEINT", "UUID", "STRUCT(a INTEGER[])", "TIMESTAMP WITH TIME ZONE"]
