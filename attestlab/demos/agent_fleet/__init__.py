"""The machine agents of the demo: forty in four trees, and what they did."""
