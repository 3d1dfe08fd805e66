"""Cards of agents (A2A 1.0), and the public keys that verify them."""
