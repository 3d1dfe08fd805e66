"""The first policy is simulated over earlier mints without a decision, on either database."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import duckdb
import pyarrow.parquet as pq
import pytest

from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.issuers.rules import TrustTier
from attestlab.lake.context_columns import select_recorded
from attestlab.orgs.rules import Caller
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.document import Document
from attestlab.policy.sql.compiler import quote_column
from attestlab.simulation.history import AT_MINT
from attestlab.simulation.simulation import Simulation
from support.policies.documents import make_condition, make_document, make_rule

OLD_KEY = make_document(make_rule("old", "DENY", make_condition("key.age_days", "gte", 30)), default_effect="ALLOW")
ANYTHING = make_document(
    make_rule("never", "DENY", make_condition("trust_tier", "eq", "SELF_SIGNED")), default_effect="ALLOW"
)


class Mints:
    """A tenant with two issuers, of which the second is verified."""

    def __init__(self, lab: Installation, caller: Caller, clock: FixedClock) -> None:
        self.lab, self.caller, self.clock = lab, caller, clock
        self.issuers = [self._issuer("Archive", "CH"), self._issuer("Clinic", "NL")]

    def _issuer(self, name: str, country: str) -> tuple[UUID, str]:
        profile = {"name": name, "domain": f"{name.lower()}.example.com", "jurisdiction": country}
        made = self.lab.issuers.create(profile, caller=self.caller, alg=Algorithm.ED25519, kid=f"{name.lower()}-1")
        self.lab.issuers.set_governance(made.issuer.id, trust_tier=TrustTier.VERIFIED, caller=self.caller)
        return made.issuer.id, f"{name.lower()}-1"

    def mint(self, number: int = 0) -> UUID:
        issuer_id, kid = self.issuers[number]
        request = MintRequest(issuer_id=issuer_id, kid=kid, schema="degree", claims={"student_name": "Ada"})
        return self.lab.attestations.mint(request, caller=self.caller).id

    def of(self, raw: dict[str, Any] | UUID, **more: Any) -> Simulation:
        draft = raw if isinstance(raw, UUID) else Document.read(raw)
        return self.lab.simulations.of(draft, caller=self.caller, **more)

    def activate(self, raw: dict[str, Any]) -> None:
        policy: UUID = self.lab.policies.create(Document.read(raw), caller=self.caller).id
        with self.of(policy) as simulation:
            digest = simulation.report().digest
        examined = self.lab.policies.examine(policy, caller=self.caller)
        self.lab.policies.activate(policy, examined, simulation_digest=digest, caller=self.caller)


@pytest.fixture
def mints(lab: Installation, caller: Caller, clock: FixedClock) -> Mints:
    return Mints(lab, caller, clock)


def test_first_draft_is_simulated_over_all_mints(mints: Mints) -> None:
    """Exported or not, as issuer and key stood then."""
    mints.mint(0)
    mints.lab.lake.export()
    mints.clock.advance(timedelta(days=30))
    late = mints.mint(1)

    with mints.of(OLD_KEY, by=["jurisdiction"]) as simulation:
        compared = simulation.compare()
        flips, (example,) = compared.flips.rows(), compared.examples.rows()
        content = simulation.report().content

    assert [(row["from"], row["to"], row["jurisdiction"], row["count"]) for row in flips] == [
        ("ALLOW", "DENY", "NL", 1)
    ]
    assert (example["decision_id"], example["attestation_id"]) == (None, str(late))
    assert (content["decided"], content["unasked"], content["last_decision_seq"]) == (2, 2, None)
    assert content["self_check"]["decisions"] == 0


def test_decided_mint_occurs_once(mints: Mints) -> None:
    """It names its decision; one from before, and one from after the policy was taken away, names none."""
    mints.mint()
    mints.activate(ANYTHING)
    mints.mint()
    (policy,) = mints.lab.policies.page(caller=mints.caller)
    mints.lab.policies.archive(policy[0].id, caller=mints.caller)
    mints.mint()

    with mints.of(OLD_KEY) as simulation:
        content = simulation.report().content

    assert (content["decided"], content["unasked"], content["self_check"]["decisions"]) == (3, 2, 1)
    found = mints.lab.lake(mints.caller).attestations.sql("select decision_id from this order by log_index").fetchall()
    assert [name is None for (name,) in found] == [True, False, True]


def test_old_part_without_decision_ids_duplicates_no_mint(mints: Mints) -> None:
    mints.activate(ANYTHING)
    mints.mint()
    mints.clock.advance(timedelta(days=40))
    mints.mint()
    mints.lab.lake.export()
    (part,) = (mints.lab.lake.folder / "attestations").iterdir()
    pq.write_table(pq.read_table(part).drop_columns(["decision_id", "key_created_at"]), part)

    with mints.of(OLD_KEY) as simulation:
        assert (simulation.load(), simulation.extent[0]) == (2, 0)
        assert [row["count"] for row in simulation.compare().flips.rows()] == [1]


def test_unknown_key_has_no_age() -> None:
    found = duckdb.sql(
        f"SELECT {AT_MINT['key.age_days']} "
        "FROM (SELECT NULL::TIMESTAMPTZ AS key_created_at, TIMESTAMPTZ '2026-11-21' AS created_at)"
    )
    assert found.fetchall() == [(None,)]


def test_issuer_draft_is_simulated_over_its_mints_in_the_window(mints: Mints) -> None:
    mints.mint(0)
    mints.mint(1)
    mints.clock.advance(timedelta(days=1))
    at = mints.clock.now()
    mints.mint(0)
    own = {**OLD_KEY, "target_type": "ISSUER", "target_id": str(mints.issuers[0][0])}

    def count(raw: dict[str, Any], **window: Any) -> int:
        with mints.of(raw, **window) as simulation:
            return simulation.load()

    assert (count(OLD_KEY), count(own)) == (3, 2)
    assert (count(own, start=at), count(own, end=at)) == (1, 1)
    assert count({**OLD_KEY, "category": "VERIFY"}) == 0


def test_lake_mint_columns_equal_policy_context(mints: Mints) -> None:
    """Held side by side for mints that were decided: each attribute of the decision against a column."""
    mints.activate(ANYTHING)
    for days in (0, 1, 45):
        mints.clock.advance(timedelta(days=days, hours=23))
        mints.mint(0)
        mints.mint(1)

    look = mints.lab.lake(mints.caller).history()
    names = [str(name) for name, *_ in look.execute("DESCRIBE decided").fetchall()]
    seen = {path: select_recorded(PLATFORM[path], names)[0] for path in AT_MINT}
    decided = ", ".join(f"{source} AS {quote_column(path)}" for path, source in seen.items())
    columns = ", ".join(f"{source} AS {quote_column(path)}" for path, source in AT_MINT.items())
    rows = look.execute(f"SELECT {decided} FROM decided ORDER BY id").fetchall()

    assert rows == look.execute(f"SELECT {columns} FROM minted ORDER BY decision_id").fetchall()
    assert len(rows) == 6
    assert {row[list(AT_MINT).index("key.age_days")] for row in rows} == {0.0, 2.0, 48.0}
