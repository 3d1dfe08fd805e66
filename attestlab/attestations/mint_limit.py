"""The limit of mints per tenant and minute, which single mints, items of batches and receipts share."""

from attestlab.orgs import usage
from attestlab.web.routing.routes import Limit

MINT_LIMIT = Limit("mint", 100, 60, daily=usage.ATTESTATIONS)
