"""The machine agents of the demo: forty in four trees, what they did, and what one of them was refused."""
