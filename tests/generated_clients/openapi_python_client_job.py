"""The main job of the quickstart, with a client of openapi-python-client in the environment of `make clients`."""

import json
import sys

from attestlab_api.api.attestations import get_proof_bundle, mint_attestation, verify_attestation
from attestlab_api.api.issuers import create_issuer
from attestlab_api.api.policies import create_policy
from attestlab_api.client import AuthenticatedClient, Client
from attestlab_api.models import (
    Algorithm,
    IssuerInput,
    MintInput,
    MintInputClaims,
    PolicyDocument,
    SchemaId,
    VerificationInput,
)

url, key, sha256, policy = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key, prefix="", auth_header_name="X-API-Key")
anyone = Client(base_url=url)
issuer = create_issuer.sync(
    client=client, body=IssuerInput(name="Registrar", domain="registrar.example", alg=Algorithm.ED25519)
)
body = MintInput(
    issuer_id=issuer.id,
    kid=issuer.keys[0].kid,
    alg=Algorithm.ED25519,
    schema=SchemaId.DEGREE,
    claims=MintInputClaims.from_dict({"student_name": "Ada Lovelace", "institution": "University of London"}),
    document_hash=sha256,
)
made = create_policy.sync(client=client, body=PolicyDocument.from_dict(json.loads(policy)))
minted, again = (mint_attestation.sync(client=client, body=body, idempotency_key="python-1") for _ in range(2))


def verify(attestation_id, digest):
    wanted = VerificationInput(attestation_id=attestation_id, document_hash_hex=digest)
    return verify_attestation.sync_detailed(client=anyone, body=wanted)


found = {
    "minted_once": minted.id == again.id,
    "verdicts": [verify(minted.id, digest).parsed.verdict for digest in (sha256, "0" * 64)],
    "unknown": verify(issuer.id, sha256).parsed.to_dict(),
    "rules": made.to_dict()["rules"],
    "bundle": get_proof_bundle.sync_detailed(id=minted.id, client=client).content.decode(),
}
print(json.dumps(found))
