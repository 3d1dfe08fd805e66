"""Others verify our hops: joserfc, jwcrypto and Go's crypto/ed25519; and we take about as long as bare signatures."""

from __future__ import annotations

import json
import shutil
import subprocess
from time import process_time

import jwcrypto.jwk
import jwcrypto.jws
import pytest
from joserfc import jwk as joserfc_jwk
from joserfc import jws as joserfc_jws

from attestlab.agents.delegation.hops import ALGORITHM, TYP, compute_digest, read_hop
from attestlab.agents.delegation.rules import ChainVerdict
from attestlab.agents.delegation.verification import judge_chain
from attestlab.core.crypto import signing
from support.delegation_world import DelegationWorld, Grant, build_line

GO_JUDGE = """
package main

import (
    "crypto/ed25519"
    "crypto/sha256"
    "encoding/base64"
    "encoding/json"
    "fmt"
    "os"
    "strings"
)

func main() {
    var given struct{ Chain []string; Keys map[string]string }
    if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil { panic(err) }
    prev := ""
    for _, token := range given.Chain {
        parts := strings.Split(token, ".")
        var header struct{ Alg, Kid, Typ string }
        var hop struct{ Prev string }
        raw, _ := base64.RawURLEncoding.DecodeString(parts[0])
        json.Unmarshal(raw, &header)
        raw, _ = base64.RawURLEncoding.DecodeString(parts[1])
        json.Unmarshal(raw, &hop)
        key, _ := base64.RawURLEncoding.DecodeString(given.Keys[header.Kid])
        signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
        good := header.Typ == "agent-delegation+jwt" && hop.Prev == prev &&
            ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature)
        digest := sha256.Sum256([]byte(token))
        prev = base64.RawURLEncoding.EncodeToString(digest[:])
        fmt.Println(good)
    }
}
"""


def list_jwks(world: DelegationWorld) -> dict[str, dict[str, str]]:
    return {kid: signing.jwk(ALGORITHM, key.public, kid) for kid, key in world.known_keys().items()}


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")
def test_joserfc_verifies_every_hop():
    world, grant = build_line(8, "docs:*", "!docs:delete")
    jwks = list_jwks(world)

    for token, hop_id in zip(grant.chain, grant.ids, strict=True):
        key = joserfc_jwk.import_key(jwks[read_hop(token).kid])
        judged = joserfc_jws.deserialize_compact(token, key, algorithms=["EdDSA"])
        assert json.loads(judged.payload)["id"] == hop_id
        assert judged.protected == {"alg": "EdDSA", "kid": key.kid, "typ": TYP}


def test_jwcrypto_verifies_every_hop():
    world, grant = build_line(8, "docs:*", "!docs:delete")
    jwks = list_jwks(world)

    for token in grant.chain:
        judged = jwcrypto.jws.JWS()
        judged.allowed_algs = ["EdDSA"]
        judged.deserialize(token)
        judged.verify(jwcrypto.jwk.JWK(**jwks[judged.jose_header["kid"]]))
        assert judged.payload == read_hop(token).jws.payload


def test_a_hop_that_jwcrypto_signed_is_valid():
    """An agent that holds its key signs what the service asks for, with any library."""
    world, grant = build_line(1, "docs:read")
    owner = world.agents[grant.hop.parent].keys[-1]
    theirs = jwcrypto.jws.JWS(grant.hop.payload())
    theirs.allowed_algs = ["EdDSA"]
    header = json.dumps({"alg": "EdDSA", "kid": owner.kid, "typ": TYP}, separators=(",", ":"))
    theirs.add_signature(jwcrypto.jwk.JWK.from_pyca(owner.private), protected=header)

    assert theirs.serialize(compact=True) == grant.chain[0]


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_go_verifies_a_chain(tmp_path):
    world, grant = build_line(3, "docs:*", "!docs:delete")
    program = tmp_path / "judge.go"
    program.write_text(GO_JUDGE)
    keys = {kid: jwk["x"] for kid, jwk in list_jwks(world).items()}

    def judge(chain: list[str]) -> list[str]:
        given = json.dumps({"chain": chain, "keys": keys})
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
        done = subprocess.run(
            ["go", "run", str(program)], input=given, capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout.split()

    assert judge(grant.chain) == ["true"] * 3
    assert judge([grant.chain[0], grant.chain[2]]) == ["true", "false"]


def measure(world: DelegationWorld, grant: Grant) -> tuple[float, float]:
    """The least processor time of a verification of the chain, and of its bare signatures, measured in turns."""
    known = world.stranger_knowledge()
    pairs = [(read_hop(token).jws, known.keys[read_hop(token).kid].public) for token in grant.chain]
    whole, bare = [], []
    for _ in range(60):
        start = process_time()
        report = judge_chain(grant.chain, lambda _: known, now=world.now)
        whole.append(process_time() - start)
        start = process_time()
        for token, public in pairs:
            public.verify(token.signature, token.signed)
        bare.append(process_time() - start)
        assert report.verdict is ChainVerdict.VALID
    return min(whole), min(bare)


def test_a_chain_of_eight_takes_one_and_a_half_times_its_signatures():
    whole, bare = measure(*build_line(8, "docs:*", "mail:send", "!docs:delete"))

    assert whole <= 1.5 * bare
    assert whole <= 0.002


def test_the_digest_of_a_hop_is_of_its_text():
    _, grant = build_line(2, "docs:read")

    assert read_hop(grant.chain[1]).hop.prev == compute_digest(grant.chain[0])
