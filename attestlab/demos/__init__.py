"""The seeded demo installation that `attestlab demo` and the notebooks open."""
