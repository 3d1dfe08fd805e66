"""Billing: subscriptions, add-ons, invoices, and the usage of what a plan allows (CONTRACT 11.6)."""
