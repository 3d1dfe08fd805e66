"""What the risk explorer asks the facade: each module has one question, and returns frozen values."""
