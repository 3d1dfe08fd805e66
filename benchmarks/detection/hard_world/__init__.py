"""Worlds that are as hard as people: those of `risk_world`, and what makes a detector wrong.

Equal parameters make equal worlds. The numbers are in `parameters`, each with its source. They were written before
the detector was changed for them, and are not changed to make it look better.
"""
