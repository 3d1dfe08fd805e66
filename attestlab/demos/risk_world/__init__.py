"""A seeded world of innocent people and labelled attacks on one tenant, to measure detectors with.

Its numbers are in `parameters`, each with its source. Equal parameters make equal worlds on every machine.
"""
