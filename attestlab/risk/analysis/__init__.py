"""Aggregates of risk signals for an explorer: what happens, and which entities are behind it.

Each function takes a DuckDB connection that has a tenant's `signals` as a view, such as
`lab.lake(caller).connect("signals")` opens, and the filter of `GET /v1/risk/signals`.
"""
