"""Issuer governance: whom the tenant trusts, whether that has changed, and the requests that change it."""
