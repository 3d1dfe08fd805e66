"""How fast it is: `make bench` prints one JSON line a figure.

A figure is `{name, value, unit, against?, spread?}`. A ratio is taken in one run, the
two sides in turn, so that what else the machine does falls on both; `spread` is the
smallest and the largest of the rounds, `value` their median.
"""
