"""Every capability is walked on PostgreSQL as well: the one table of who asks which store there.

A test runs on SQLite unless it is marked `both_engines`. What depends on the engine is tested on both: storage,
counters, locks, migrations, group commit, each store, and one walk through each capability over HTTP.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "attestlab"

# The walk over HTTP of each capability that has routes.
WALKS = {
    "agents": "agents/test_agents_over_http.py::test_an_agent_is_registered_found_listed_and_changed",
    "attestations": "attestations/test_attestations_over_http.py"
    "::test_file_is_minted_fetched_and_verified_online_and_offline",
    "audit": "audit/test_audit_over_http.py::test_a_reader_can_recompute_the_chain",
    "billing": "billing/test_subscriptions_over_http.py"
    "::test_a_larger_plan_holds_with_the_next_request_and_is_charged_for_the_rest_of_the_month",
    "blog": "blog/test_blog_over_http.py::test_a_post_is_written_published_changed_and_archived",
    "consumer": "consumer/test_sign_up.py::test_an_account_begins_with_the_verification_of_its_address",
    "delivery": "delivery/test_delivery_over_http.py::test_a_recipient_with_an_account_gets_it_immediately_with_a_mail",
    "exports": "exports/test_status_lists.py::test_a_mint_is_0_and_its_revocation_is_1_at_once",
    "governance": "governance/test_issuer_requests.py::test_request_is_approved_by_another_and_executed_by_the_tenant",
    "identity": "identity/test_sessions.py::test_a_refresh_returns_the_next_token_of_the_session",
    "issuers": "issuers/test_issuers_over_http.py::test_a_new_issuer_is_active_self_signed_and_low",
    "lake": "lake/test_lake_over_http.py::test_data_sets_are_joined_in_one_query",
    "log": "log/test_log_routes.py::test_every_path_answers_on_either_engine",
    "orgs": "orgs/test_members_over_http.py::test_accepting_an_invitation_allows_sign_in",
    "policy": "policy/test_policies_over_http.py::test_denial_names_its_rules_and_can_be_explained",
    "portal": "portal/test_hostile_strings.py::test_what_the_api_takes_appears_as_text",
    "protections": "protections/test_protections_over_http.py::test_content_is_protected_changed_revoked_and_deleted",
    "receipts": "receipts/test_receipt_types_over_http.py::test_a_type_is_created_versioned_listed_and_deprecated",
    "risk": "risk/test_signals_over_http.py::test_signal_is_recorded_returned_and_published",
    "search": "search/test_search_over_http.py::test_entities_and_cases_are_found_by_the_beginning_of_an_id",
    "simulation": "simulation/test_simulation_over_http.py::test_reports_of_other_tenants_are_not_found",
    "annotations": "annotations/test_annotations_over_http.py::test_one_is_written_listed_by_period_and_removed",
    "views": "views/test_views_over_http.py::test_a_view_is_saved_listed_changed_and_deleted",
    "webhooks": "webhooks/test_endpoints_over_http.py::test_secret_is_shown_once_and_sealed",
}
# Beyond those walks, what asks a store that no route reaches alone.
STORES = {
    "consumer": "consumer/inbox/test_inbox_over_http.py::test_a_minted_attestation_is_in_its_recipients_inbox",
    "lake": "lake/test_exporter.py::test_view_equals_records_at_every_export_position",
    "mail": "delivery/test_delivery_over_http.py::test_mail_and_delivery_are_stored_only_with_the_attestation",
    "witness": "witness/test_witnessed_bundle.py::test_bundle_can_require_a_witness_without_delaying_mints",
}
# What every capability stands on.
FOUNDATIONS = (
    "core/test_storage.py::test_exception_rolls_the_transaction_back",
    "core/test_rate_counters.py::test_processes_share_one_bucket",
    "core/test_migrations.py::test_a_failure_at_any_statement_leaves_nothing_behind",
    "core/test_row_digest.py::test_deleted_row_is_found",
    "faults/test_statement_faults.py::test_fault_at_any_statement_leaves_each_mint_complete_or_undone",
    "faults/test_two_servers.py::test_two_servers_on_one_database_keep_one_log",
    "web/test_idempotency_store.py::test_a_response_is_replayed_within_a_day",
)


def marks_of(name: str) -> set[str]:
    """The marks of a test, those of its module among them."""
    path, _, test = name.partition("::")
    tree = ast.parse((TESTS / path).read_text())
    (found,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == test]
    of_module = [node.value for node in tree.body if isinstance(node, ast.Assign) and _is_pytestmark(node)]
    named = [node for part in (*found.decorator_list, *of_module) for node in ast.walk(part)]
    return {node.attr for node in named if isinstance(node, ast.Attribute)}


def _is_pytestmark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


@pytest.mark.parametrize("name", [*WALKS.values(), *STORES.values(), *FOUNDATIONS])
def test_the_test_runs_on_both_engines(name: str) -> None:
    assert "both_engines" in marks_of(name)


def capabilities_with(role: str) -> set[str]:
    """The capabilities with a module of this name, at their top or in a part of theirs."""
    return {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.glob(f"*/**/{role}.py")} - {"web"}


def test_every_capability_with_routes_has_its_walk() -> None:
    assert capabilities_with("routes") == set(WALKS)


def test_every_store_is_asked_on_both_engines() -> None:
    assert capabilities_with("store") <= {*WALKS, *STORES}


@pytest.fixture
def is_asked_of(engine: str) -> str:
    return engine


@pytest.mark.both_engines
def test_a_marked_test_has_its_turn_on_either_engine(request: pytest.FixtureRequest, is_asked_of: str) -> None:
    assert f"[{is_asked_of}]" in request.node.name


def test_another_runs_on_sqlite_alone(is_asked_of: str) -> None:
    assert is_asked_of == "sqlite"
