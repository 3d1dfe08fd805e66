"""Mutants: faults that are planted one by one, each of which the tests must catch.

`list/*.toml` declares them, one table each: its name, the promise that it breaks, the file, the old
text (which occurs there exactly once), the new text, and the nearest tests. `make mutants` plants each
in a copy of the tree and runs its nearest tests; a mutant is caught when one of them fails.
"""
