"""The lake: append-only facts exported from the records as Parquet, and each caller's view of them as DuckDB
relations.

The records remain the source of truth. A deleted lake is rebuilt from them.
"""
