"""The main job of the quickstart, with a client of OpenAPI Generator in the environment of `make clients`."""

import json
import sys

from attestlab_api import ApiClient, AttestationsApi, Configuration, IssuersApi, PoliciesApi
from attestlab_api.models import IssuerInput, MintInput, PolicyInput, VerificationInput

url, key, sha256, policy = sys.argv[1:]
client = ApiClient(Configuration(host=url, api_key={"apiKey": key}))
anyone = AttestationsApi(ApiClient(Configuration(host=url)))
issuer = IssuersApi(client).create_issuer(IssuerInput(name="Registrar", domain="registrar.example", alg="Ed25519"))
body = MintInput(
    issuer_id=issuer.id,
    kid=issuer.keys[0].kid,
    alg="Ed25519",
    var_schema="degree",
    claims={"student_name": "Ada Lovelace", "institution": "University of London"},
    document_hash=sha256,
)
attestations = AttestationsApi(client)
made = PoliciesApi(client).create_policy(PolicyInput.from_json(policy))
minted, again = (attestations.mint_attestation("generator-1", body) for _ in range(2))


def verify(attestation_id, digest):
    return anyone.verify_attestation(VerificationInput(attestation_id=attestation_id, document_hash_hex=digest))


found = {
    "minted_once": minted.id == again.id,
    "verdicts": [verify(minted.id, digest).verdict for digest in (sha256, "0" * 64)],
    "unknown": json.loads(verify(issuer.id, sha256).to_json()),
    "rules": json.loads(made.to_json())["rules"],
    "bundle": attestations.get_proof_bundle_without_preload_content(minted.id).data.decode(),
}
print(json.dumps(found))
