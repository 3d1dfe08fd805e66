"""Providers of payments: the embedded one, which charges no money, and Stripe (CONTRACT 11.6)."""
