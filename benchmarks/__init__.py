"""Benchmarks: `make bench` prints one JSON line per figure.

A figure is `{name, value, unit, against?, spread?}`. A ratio is measured in one run, the
two sides in turn, so that other work of the machine affects both sides. `value` is the
median of the rounds, `spread` their smallest and largest value.
"""
