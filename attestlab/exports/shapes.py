"""Wire models of exports; the exports themselves are tokens."""

from attestlab.core.shapes import Out
from attestlab.issuers.shapes import JwksOut


class VcIssuerMetadataOut(Out):
    """JWT VC Issuer Metadata (draft-ietf-oauth-sd-jwt-vc): the signer, and the keys that currently verify it."""

    issuer: str
    jwks: JwksOut
