"""Analysis of policies for every possible context, with z3."""
