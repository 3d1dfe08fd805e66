"""Policies: one meaning, several compilers; what a policy would have done is known before it is switched on."""
