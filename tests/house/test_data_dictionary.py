"""The data dictionary: every field of the public objects, no more, and none without its meaning."""

import csv
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from attestlab.attestations import shapes
from attestlab.attestations.rules import Statement
from attestlab.audit.shapes import AuditEventOut
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.strict_json import parse_json
from attestlab.delivery.shapes import DeliveryOut
from attestlab.exports.shapes import VcIssuerMetadataOut
from attestlab.governance.shapes import (
    ApprovalOut,
    BlastRadiusOut,
    ImpactOut,
    IssuerRequestOut,
    MonthCountOut,
    RecipientCountOut,
    SchemaCountOut,
)
from attestlab.identity.shapes import CredentialOut, MeOut, TokensOut
from attestlab.issuers.shapes import (
    DomainProofOut,
    IssuerOut,
    KeyOut,
    LogoOut,
    NewKeyOut,
    OldKeyOut,
    RotatedOut,
    WithdrawnKeyOut,
)
from attestlab.lake import datasets, relations
from attestlab.log import entries
from attestlab.log import shapes as log_shapes
from attestlab.orgs.shapes import ApiKeyMadeOut, ApiKeyOut, OrgOut, UserOut
from attestlab.policy import shapes as policy_shapes
from attestlab.risk.activity.shapes import DriftOut, KindDriftOut, SourceOut
from attestlab.risk.enforcement.shapes import CaseOut, ChallengeOut, ListEntryOut
from attestlab.risk.entities.shapes import EdgeOut, EntityNameOut, GraphOut, NodeOut, RingOut
from attestlab.risk.normalization.shapes import EventOut
from attestlab.risk.shapes import FactorOut
from attestlab.risk.signals.shapes import SignalOut
from attestlab.simulation import shapes as simulation_shapes
from attestlab.simulation.risk import shapes as risk_simulation_shapes

FILE = Path(__file__).parents[2] / "data" / "dictionary.csv"
COLUMNS = ["object", "field", "type", "format", "meaning", "source"]
AT = datetime(2026, 1, 2, tzinfo=UTC)
ID = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")

SHAPES: dict[str, type[BaseModel]] = {
    "attestation": shapes.AttestationOut,
    "mint_response": shapes.MintOut,
    "revocation": shapes.RevokedOut,
    "supersession": shapes.SupersededOut,
    "attestation_pack": shapes.PackOut,
    "verification_response": shapes.VerifyOut,
    "verification_log": shapes.LogOut,
    "verification_details": shapes.VerifyDetailsOut,
    "governance": shapes.GovernanceOut,
    "proof_bundle": shapes.BundleOut,
    "bundle_issuer": shapes.BundleIssuerOut,
    "bundle_key": shapes.BundleKeyOut,
    "bundle_log_entry": shapes.LogEntryOut,
    "status_proof": shapes.StatusProofOut,
    "entry_chain": shapes.ChainOut,
    "logged_entry": shapes.LoggedOut,
    "status_list": shapes.StatusListOut,
    "status_chunk": shapes.ChunkOut,
    "inclusion_proof": shapes.ProofOut,
    "signed_tree_head": shapes.TreeHeadOut,
    "issuer": IssuerOut,
    "key": KeyOut,
    "domain_proof": DomainProofOut,
    "logo": LogoOut,
    "rotation": RotatedOut,
    "old_key": OldKeyOut,
    "new_key": NewKeyOut,
    "withdrawn_key": WithdrawnKeyOut,
    "checkpoint": log_shapes.CheckpointOut,
    "log_head": log_shapes.HeadOut,
    "log_record": log_shapes.EntryOut,
    "consistency_proof": log_shapes.ConsistencyOut,
    "audit_event": AuditEventOut,
    "tokens": TokensOut,
    "me": MeOut,
    "me_credential": CredentialOut,
    "api_key": ApiKeyOut,
    "api_key_made": ApiKeyMadeOut,
    "org": OrgOut,
    "user": UserOut,
    "delivery": DeliveryOut,
    "vc_issuer_metadata": VcIssuerMetadataOut,
    "issuer_request": IssuerRequestOut,
    "issuer_request_approval": ApprovalOut,
    "issuer_request_impact": ImpactOut,
    "blast_radius": BlastRadiusOut,
    "schema_count": SchemaCountOut,
    "month_count": MonthCountOut,
    "recipient_count": RecipientCountOut,
    "policy": policy_shapes.PolicyOut,
    "policy_summary": policy_shapes.PolicySummaryOut,
    "policy_version": policy_shapes.PolicyVersionOut,
    "policy_version_summary": policy_shapes.PolicyVersionSummaryOut,
    "policy_attributes": policy_shapes.AttributesOut,
    "policy_attribute": policy_shapes.AttributeOut,
    "verification_profile": policy_shapes.ProfileOut,
    "policy_evaluation": policy_shapes.EvaluateOut,
    "policy_diagnostic": policy_shapes.DiagnosticOut,
    "policy_decision": policy_shapes.DecisionOut,
    "policy_explained": policy_shapes.ExplainedPolicyOut,
    "policy_explained_rule": policy_shapes.ExplainedRuleOut,
    "policy_counterfactual": policy_shapes.CounterfactualOut,
    "policy_change": policy_shapes.ChangeOut,
    "policy_analysis": policy_shapes.AnalysisOut,
    "policy_finding": policy_shapes.FindingOut,
    "risk_signal": SignalOut,
    "risk_factor": FactorOut,
    "risk_event": EventOut,
    "risk_case": CaseOut,
    "risk_challenge": ChallengeOut,
    "risk_list_entry": ListEntryOut,
    "risk_simulation": risk_simulation_shapes.RiskSimulationOut,
    "risk_proportion": risk_simulation_shapes.ProportionOut,
    "risk_confusion": risk_simulation_shapes.ConfusionOut,
    "risk_label_count": risk_simulation_shapes.LabelCountOut,
    "risk_signal_labels": risk_simulation_shapes.SignalLabelsOut,
    "risk_live_rule": risk_simulation_shapes.LiveRuleOut,
    "risk_error_costs": risk_simulation_shapes.CostsOut,
    "risk_threshold": risk_simulation_shapes.SweptThresholdOut,
    "risk_curve_point": risk_simulation_shapes.CurvePointOut,
    "risk_flip": risk_simulation_shapes.RiskFlipOut,
    "risk_rule_effect": risk_simulation_shapes.RiskRuleEffectOut,
    "risk_signal_example": risk_simulation_shapes.SignalExampleOut,
    "risk_gate_check": risk_simulation_shapes.GateCheckOut,
    "risk_promotion": risk_simulation_shapes.PromotionOut,
    "risk_explained_rule": risk_simulation_shapes.ExplainedRiskRuleOut,
    "risk_explained_signal": risk_simulation_shapes.ExplainedSignalOut,
    "risk_graph": GraphOut,
    "risk_node": NodeOut,
    "risk_edge": EdgeOut,
    "risk_ring": RingOut,
    "risk_entity_name": EntityNameOut,
    "risk_source": SourceOut,
    "risk_drift": DriftOut,
    "risk_kind_drift": KindDriftOut,
    "simulation": simulation_shapes.SimulationOut,
    "simulation_report": simulation_shapes.ReportOut,
    "kept_simulation_report": simulation_shapes.KeptReportOut,
    "simulated_policy": simulation_shapes.SimulatedPolicyOut,
    "simulation_window": simulation_shapes.WindowOut,
    "simulation_without_risk": simulation_shapes.WithoutRiskOut,
    "simulation_self_check": simulation_shapes.SelfCheckOut,
    "simulation_transition": simulation_shapes.TransitionOut,
    "simulation_flip": simulation_shapes.FlipOut,
    "simulation_reason": simulation_shapes.ReasonOut,
    "simulation_example": simulation_shapes.ExampleOut,
    "simulation_rule": simulation_shapes.RuleEffectOut,
    "simulation_swept": simulation_shapes.SweptOut,
    "simulation_group": simulation_shapes.GroupOut,
}
MADE: dict[str, bytes] = {
    "statement": Statement(
        ID, ID, "k", Algorithm.ED25519, "degree", "application/pdf", "h", None, "h", None, AT
    ).canonical(),
    "log_entry:attestation.minted": entries.minted_entry(
        attestation_id=ID, issuer_id=ID, kid="k", alg="Ed25519", public_spki=b"", at=AT, commit=b""
    ),
    "log_entry:attestation.status": entries.attestation_status_entry(
        entries.FIRST_LINK, attestation_id=ID, issuer_id=ID, minted_index=0, status="REVOKED", at=AT
    ),
    "log_entry:key.status": entries.key_status_entry(
        entries.FIRST_LINK,
        **{"issuer_id": ID, "kid": "k", "alg": "Ed25519", "public_spki": b"", "status": "compromised", "at": AT},
        reason="lost",
        compromised_at=AT,
    ),
    "log_entry:issuer.status": entries.issuer_status_entry(
        entries.FIRST_LINK,
        issuer_id=ID,
        status="ACTIVE",
        trust_tier="BASIC",
        risk_rating="LOW",
        jurisdiction="NO",
        at=AT,
    ),
    "log_entry:status.list": entries.status_list_entry(entries.FIRST_LINK, size=1, digest=b"", at=AT),
}
LAKE = {f"lake:{each.name}": {*each.columns} for each in datasets.ALL if each is not datasets.ENDS}
LAKE["lake:attestations"] |= {*relations.STATUS_COLUMNS}
LAKE["lake:decisions"] |= {"<attribute>"}


def rows() -> list[dict[str, str]]:
    """The dictionary's rows."""
    with FILE.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        assert reader.fieldnames == COLUMNS
        return list(reader)


def described() -> dict[str, list[str]]:
    """Object to field names, as the dictionary lists them."""
    found: dict[str, list[str]] = {}
    for row in rows():
        found.setdefault(row["object"], []).append(row["field"])
    return found


def on_the_wire(shape: type[BaseModel]) -> set[str]:
    """The names under which a shape's fields go out."""
    return {field.serialization_alias or name for name, field in shape.model_fields.items()}


def members(raw: bytes) -> set[str]:
    """The names of a JSON object."""
    value: Any = parse_json(raw)
    return set(value)


def test_rows_are_complete_and_unique():
    assert [
        row for row in rows() if not all(row[column] and row[column].strip() == row[column] for column in COLUMNS)
    ] == []
    assert [name for name, fields in described().items() if len(fields) != len(set(fields))] == []


def test_described_objects_are_public():
    """
    With the two tests below: nothing public is missing, nothing described is gone.
    """
    assert set(described()) == set(SHAPES) | set(MADE) | set(LAKE)
    assert {name.removeprefix("log_entry:") for name in MADE if name.startswith("log_entry:")} == set(entries.EntryType)


@pytest.mark.parametrize("name", SHAPES)
def test_every_field_of_an_answer_is_in_the_dictionary(name: str):
    assert set(described()[name]) == on_the_wire(SHAPES[name])


@pytest.mark.parametrize("name", MADE)
def test_signed_and_logged_members_are_in_the_dictionary(name: str):
    assert set(described()[name]) == members(MADE[name])


@pytest.mark.parametrize("name", LAKE)
def test_every_column_of_the_lake_is_in_the_dictionary(name: str):
    assert set(described()[name]) == LAKE[name]


def test_type_references_resolve():
    pointed = {name for row in rows() for name in re.findall(r"object (\w+)", row["type"])} - {"or"}

    assert pointed - set(described()) == set()


def test_nullable_fields_are_marked():
    """
    A reader who trusts the type column must not meet a null that it did not announce.
    """
    types = {(row["object"], row["field"]): row["type"] for row in rows()}
    for name, shape in SHAPES.items():
        for field, declared in shape.model_json_schema(mode="serialization")["properties"].items():
            nullable = {"type": "null"} in declared.get("anyOf", [])
            assert types[name, field].endswith(" or null") == nullable, (name, field)
