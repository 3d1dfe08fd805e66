"""The page about machine agents: who may do what, who let them, and what they did."""
