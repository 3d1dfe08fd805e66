"""What analysts and the operator see of billing: two data sets, and a command."""

from __future__ import annotations

from pathlib import Path

from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from support.billing import use_verifications
from support.fork_server import run_command
from support.server_process import run_json_command


def test_usage_and_invoices_are_data_sets(lab: Installation, payer: Caller) -> None:
    lab.billing.change(Plan.STARTER, caller=payer)
    use_verifications(lab, payer, 7)

    lake = lab.lake(lab.orgs.service_caller(payer.tenant_id))

    (used,) = lake.usage.arrow().to_pylist()
    assert (used["resource"], used["used"], used["plan_limit"]) == ("verifications", 7, 1_000)
    assert used["day"].isoformat() == "2026-12-16T00:00:00+00:00"
    (invoice,) = lake.invoices.arrow().to_pylist()
    assert (invoice["amount_minor"], invoice["status"], invoice["number"][-5:]) == (1_450, "open", "-0001")


def test_another_tenants_invoices_are_not_in_the_data_set(lab: Installation, payer: Caller) -> None:
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Another", plan=Plan.FREE).tenant_id)
    lab.billing.change(Plan.STARTER, caller=other)

    assert lab.lake(payer).invoices.arrow().num_rows == 0


def test_the_operator_lists_the_invoices_of_a_tenant(tmp_path: Path) -> None:
    run_json_command("init", "--data", str(tmp_path), "--json")
    made = run_json_command("tenant", "create", "Deeds", "--plan", "STARTER", "--data", str(tmp_path), "--json")

    shown = run_command("tenant", "invoices", made["tenant_id"], "--data", str(tmp_path), "--json")
    unknown = run_command("tenant", "invoices", made["org_id"], "--data", str(tmp_path))

    assert '"status":"open"' in shown.stdout.replace(" ", "")
    assert unknown.returncode == 2
