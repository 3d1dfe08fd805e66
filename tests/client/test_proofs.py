"""A proof is verified when it arrives: a service that lies about its log is noticed."""

from __future__ import annotations

import hashlib
import json

import pytest

from attestlab.client.connecting import connect
from attestlab.core.errors import ProofInvalid
from support.scripted_server import Answer, serve_script

LEFT, RIGHT, OTHER = (hashlib.sha256(name.encode()).digest() for name in ("left", "right", "other"))
ROOT = hashlib.sha256(b"\x01" + LEFT + RIGHT).digest()


def text(value: bytes) -> str:
    return f"sha256:{value.hex()}"


def prove_inclusion(sibling: bytes) -> Answer:
    body = {"log_index": 0, "tree_size": 2, "leaf_hash": text(LEFT), "root_hash": text(ROOT)}
    return Answer(200, json.dumps({**body, "hashes": [text(sibling)]}).encode())


def prove_consistency(added: bytes) -> Answer:
    body = {"from": 1, "to": 2, "from_root": text(LEFT), "to_root": text(ROOT), "hashes": [text(added)]}
    return Answer(200, json.dumps(body).encode())


def test_a_proof_that_holds_is_returned() -> None:
    with serve_script(Answer(200), prove_inclusion(RIGHT)) as server, connect(server.url) as lab:
        assert lab.log.proof(0).tree_size == 2


def test_a_proof_that_leads_to_another_root_is_refused() -> None:
    with (
        serve_script(Answer(200), prove_inclusion(OTHER)) as server,
        connect(server.url) as lab,
        pytest.raises(ProofInvalid),
    ):
        lab.log.proof(0)


def test_a_log_that_did_not_only_grow_is_noticed() -> None:
    with serve_script(Answer(200), prove_consistency(RIGHT)) as server, connect(server.url) as lab:
        assert lab.log.consistency(1, 2).to_root == text(ROOT)
    with (
        serve_script(Answer(200), prove_consistency(OTHER)) as server,
        connect(server.url) as lab,
        pytest.raises(ProofInvalid),
    ):
        lab.log.consistency(1, 2)
