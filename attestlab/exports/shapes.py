"""What goes out of this capability as JSON; the exports themselves are tokens."""

from attestlab.core.shapes import Out
from attestlab.issuers.shapes import JwksOut


class VcIssuerMetadataOut(Out):
    """JWT VC Issuer Metadata (draft-ietf-oauth-sd-jwt-vc): who signs, and the keys that prove it now."""

    issuer: str
    jwks: JwksOut
