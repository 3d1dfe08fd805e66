"""The policy language: documents, their syntax tree, typed attributes and contexts."""
