"""The lake: append-only facts from the records as Parquet, and what a caller may see of them as DuckDB relations.

The records stay the truth. A deleted lake is written anew from them.
"""
