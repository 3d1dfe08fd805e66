"""Policies compiled to SQL, and their replay over Parquet files of contexts."""
