"""Rows of the lake for analysts: data frames, Arrow, Polars, DuckDB and Parquet, with types that no row decides."""
