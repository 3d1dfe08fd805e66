"""The lake from a notebook, from the command line, and exported by a server's sweep."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from attestlab.cli import commands
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.server.write_queue import WriteQueue
from support.file_sizes import limit_file_size
from support.lake import CURRENT, DATASETS, LakeScenario, LakeTenant
from support.timeouts import WAIT_TIMEOUT_S


def test_lake_from_a_notebook(lab: Installation, caller: Caller, tmp_path: Path) -> None:
    owner = LakeTenant(lab, caller, caller.tenant_id, "")
    ids = [owner.decide() for _ in range(3)]

    assert len(lab.decisions) == 3
    assert list(lab.decisions.df().sort_values("seq")["id"]) == ids
    assert lab.decisions.arrow().num_rows == 3
    assert lab.decisions.rel().filter("allowed").aggregate("count(*)").fetchall() == [(3,)]
    counted = lab.decisions.sql("select allowed, count(*) n from this where id = $id group by all", {"id": ids[0]})
    assert counted.fetchall() == [(True, 1)]
    assert lab.decisions.to_parquet(tmp_path / "decisions.parquet") == 3
    assert pq.read_table(tmp_path / "decisions.parquet").num_rows == 3
    assert repr(lab.decisions) == "<decisions: 3 facts>"


def test_a_full_disk_leaves_the_file_of_before(lab: Installation, caller: Caller, tmp_path: Path) -> None:
    owner, file = LakeTenant(lab, caller, caller.tenant_id, ""), tmp_path / "decisions.parquet"
    owner.decide()
    file.write_text("before")
    with limit_file_size(100), pytest.raises(OSError, match="File too large"):
        lab.decisions.to_parquet(file)

    assert (file.read_text(), [path.name for path in tmp_path.glob(".*")]) == ("before", [])
    assert lab.decisions.to_parquet(file) == 1


def test_data_sets_are_joined_by_name(lab: Installation, caller: Caller) -> None:
    owner = LakeTenant.of(lab, caller, "Northfield")
    owner.mint()
    owner.report()
    lake = lab.lake(caller)

    joined = "select i.name, i.trust_tier from attestations a join issuers i on i.id = a.issuer_id where a.kid = $kid"
    assert lake.sql(joined, {"kid": owner.kid}).fetchall() == [("Northfield", "SELF_SIGNED")]
    assert lake.sql("select count(*) from signals join raw_events e on e.id = event_id").fetchall() == [(1,)]
    assert list(lake.issuers.df()["trust_tier"].cat.categories) == ["SELF_SIGNED", "BASIC", "VERIFIED", "ENTERPRISE"]
    assert (len(lake.risk_events), len(lake.cases), len(lake.policies), len(lake.challenges)) == (1, 0, 0, 0)


def test_opening_and_small_sweep_load_neither_pyarrow_nor_duckdb(tmp_path: Path) -> None:
    """They cost memory and a third of a second, which a server has no use for until a part is due."""
    code = (
        "import sys; from pathlib import Path; "
        "from attestlab.installation import Installation; from attestlab.settings import Settings;"
        f"lab, _ = Installation.init(Settings(data=Path({str(tmp_path / 'data')!r}))); lab.lake.sweep(); lab.close();"
        "print(sorted({'pyarrow', 'duckdb', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_cli_exports_and_rebuilds(lake_scenario: LakeScenario) -> None:
    for number in range(8):
        lake_scenario.act(number)
    settings = lake_scenario.lab.settings

    def run(verb: str) -> int:
        where = ["--data", str(settings.data), "--database-url", str(settings.database_url)]
        done = CliRunner().invoke(commands.app, ["lake", verb, *where, "--json"])
        assert done.exit_code == 0, done.output
        found: int = json.loads(done.stdout)["parts_written"]
        return found

    written = run("export")
    assert written == len(list(lake_scenario.lab.lake.folder.rglob("*.parquet"))) > 5
    assert run("export") == 0
    assert run("rebuild") == written


def test_server_sweep_exports(lake_scenario: LakeScenario) -> None:
    for number in range(8):
        lake_scenario.act(number)

    async def swept() -> None:
        desk = WriteQueue(lake_scenario.lab)
        sweeping = asyncio.create_task(desk.sweep_forever(lambda: None, every_s=0.01))
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while not list(lake_scenario.lab.lake.folder.glob("*/*.parquet")):
                await asyncio.sleep(0.01)
        sweeping.cancel()
        await asyncio.wait([sweeping])
        await desk.finish()

    asyncio.run(swept())


def test_documentation_lists_every_column_of_the_tenant(lake_scenario: LakeScenario) -> None:
    """docs/lake.md is what an analyst reads before writing a query."""
    lines = (Path(__file__).parents[2] / "docs" / "lake.md").read_text().splitlines()
    documented = {
        line.split("`")[1]: set(re.findall("`([a-z0-9_]+)`", line)) for line in lines if line.startswith("| `")
    }
    lake = lake_scenario.lab.lake(lake_scenario.owner.caller)
    shown = {name: set(getattr(lake, name).rel().columns) for name in (*DATASETS, *CURRENT)}
    attributes = set(lake_scenario.lab.policy_attributes.get(caller=lake_scenario.owner.caller))

    assert attributes <= shown["decisions"]
    shown["decisions"] -= attributes
    assert shown == {name: documented[name] - {name} for name in shown}
