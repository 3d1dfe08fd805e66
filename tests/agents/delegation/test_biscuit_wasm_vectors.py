"""Tokens that `@biscuit-auth/biscuit-wasm` judged and narrowed once: biscuit-python agrees with each verdict.

`biscuit_wasm/judge.mjs` made `vectors.json` from a Biscuit of ours and says how; nothing of npm runs here.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from attestlab.agents.delegation.biscuits import BiscuitExport
from support.delegation_biscuits import export, is_allowed, open_biscuit
from support.delegation_world import build_line

biscuit_auth = pytest.importorskip("biscuit_auth", reason="biscuit-python is not installed")
VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "biscuit_wasm" / "vectors.json").read_text())
TOKENS = {token["name"]: token for token in VECTORS["vectors"]}


def open_token(token: dict[str, Any]) -> Any:
    exported = BiscuitExport(token["biscuit"], VECTORS["root_public_key"], tuple(token["revocation_ids"]))
    return open_biscuit(exported)


@pytest.mark.parametrize("name", TOKENS)
def test_biscuit_python_decides_as_biscuit_wasm_did(name: str) -> None:
    token = open_token(TOKENS[name])

    allowed = {
        at: [each for each in VECTORS["requests"] if is_allowed(token, each.split(), at=datetime.fromisoformat(at))]
        for at in VECTORS["times"]
    }

    assert allowed == TOKENS[name]["allowed"]
    assert list(token.revocation_ids) == TOKENS[name]["revocation_ids"]


def test_what_we_export_now_is_what_biscuit_wasm_judged() -> None:
    world, grant = build_line(3, "docs:*", "mail:send", "!docs:delete", "!pay:*")
    hops = [world.grants[each].hop for each in grant.ids]

    exported = export(hops, world.judge(grant.chain))

    assert exported.root_public_key == VECTORS["root_public_key"]
    fresh: Any = open_biscuit(exported)
    assert fresh.block_source(0) == VECTORS["source"]
    assert open_token(TOKENS["exported"]).block_source(0) == VECTORS["source"]


def test_a_third_party_with_biscuit_wasm_only_narrows() -> None:
    """Neither its block nor its claims allow more than the exported token did, and forgeries were refused."""
    widest = TOKENS["exported"]["allowed"]

    for token in TOKENS.values():
        assert all(set(token["allowed"][at]) <= set(widest[at]) for at in VECTORS["times"])
    now = VECTORS["times"][0]
    assert (
        TOKENS["narrowed_by_third_party"]["allowed"][now] == ["docs:read"] != widest[now] == ["docs:read", "mail:send"]
    )
    assert VECTORS["refused"] == {"another_root_key": True, "a_changed_byte": True}
    external = biscuit_auth.UnverifiedBiscuit.from_base64(TOKENS["narrowed_by_third_party"]["biscuit"])
    assert external.block_count() == 2
