"""Policies of tests: documents, random ones, a naive evaluator, and policies that are active."""
