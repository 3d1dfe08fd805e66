"""Issuers and their signing keys: who may attest, with which key, under which governance."""
