"""Reads that may pass over many rows run in a thread, so that no other request waits for them."""

from __future__ import annotations

import pytest

from support.governance import PATH, GovernanceScenario
from support.loop_queries import growing_tables_read_on_the_loop

FILTERS = {
    "/v1/attestations": ["status=VALID", "schema=degree", "pack_id={id}", "offset=1", "from=2020-01-01T00:00:00Z",
                         "issuer_id={issuer}", "kid=x", "document_hash=" + "0" * 64, "to=2020-01-01T00:00:00Z"],
    "/v1/audit/events": ["", "outcome=FAILURE", "actor_id=x", "from=2020-01-01T00:00:00Z"],
    "/v1/issuers/{issuer}/blast-radius": ["", "kid={kid}"],
}  # fmt: skip


@pytest.mark.parametrize("path", FILTERS)
def test_filtered_lists_run_in_a_thread(governance: GovernanceScenario, path: str) -> None:
    governance.minted()
    ids = {"issuer": governance.issuer["id"], "kid": governance.issuer["keys"][0]["kid"], "id": governance.issuer["id"]}
    for query in FILTERS[path]:
        with growing_tables_read_on_the_loop(governance.lab) as seen:
            answer = governance.key.get(f"{path}?{query}".format(**ids))

        assert answer.status_code == 200, answer.text
        assert seen == [], query


def test_impact_is_counted_in_a_thread(governance: GovernanceScenario) -> None:
    governance.minted()
    with growing_tables_read_on_the_loop(governance.lab) as seen:
        request_id = governance.asked("SUSPEND_ISSUER")
        approved = governance.do("approve", request_id, who="reviewer").json()
        done = governance.do("execute", request_id, who="admin").json()
        listed = governance.who("owner").get(PATH)

    assert (approved["status"], done["impact"]["attestations"], listed.status_code) == ("APPROVED", 1, 200)
    assert [each for each in seen if "count(" in each or "LIMIT" in each] == []
